/* Chapter 17: what a model learns from: documents, as tokens.
 *
 *     a text, or - for standard input    a document ends at a blank line; or, where the file has
 * <|endoftext|>, at that alone. Each becomes BOS, its tokens, EOS, as far as the tokenizer has them
 *     a token file, .safetensors         ids [N], whole numbers, in which documents begin at begins
 * [documents]; or ids [documents][tokens]. learned, of the same shape, says how much each token
 *                                        counts: 0 is not to be foreseen
 *
 * What follows a certain text in its line, the answers behind "Answer:", can be all that is learned
 * of a text, or count more; of a token file `learned` says it. */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include "10_tokenizer/tokenizer.h"

/* The settings for reading documents. */
typedef struct {
    const Tokenizer *tokenizer; /* NULL: there is none, and texts are refused */
    int V;                      /* ids are 0 .. V - 1 */
    int T;                      /* tokens of a sequence */
    bool split_documents;       /* longer documents are welcome; otherwise they are refused */
    bool no_shuffle;            /* as they stand in the file, and not shuffled */
    const char *loss_after; /* of a text: what follows this in its line counts 1; NULL: all does */
    float loss_weight_else; /* and the rest so much */
} Reading;

/* A document, or a part of one, of two tokens or more. */
typedef struct {
    size_t begin, length;
} Span;

typedef struct {
    bool text;            /* and not a token file */
    size_t count, tokens; /* without documents in which there is nothing to learn */
    Span *spans;          /* [count] */
    int *ids;             /* [tokens] */
    float *loss_weight; /* [tokens]: how much it counts that it is foreseen from those before it */
} Documents;

/* Or fail(): there is nothing to learn, a token is not in the vocabulary, a document is too long.
 */
Documents documents_read(const char *path, const Reading *reading);

/* Whether one of these tokens is to be foreseen. The first of them follows nothing. */
bool documents_have_loss(const Documents *documents, size_t begin, size_t length);
void documents_free(Documents *documents);

#endif
