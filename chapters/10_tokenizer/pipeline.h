/* What exists for other people's vocabularies alone, which the lesson leaves. A tokenizer.json says step by step what
 * happens to a text and to tokens. Two ways of filling that in are Llama's families, and run as these do; every other
 * one runs here as the library tokenizers runs it, so far as its steps are known. What tokens become again is read here
 * for both.
 * Source: tokenizers 0.23, src/tokenizer/added_vocabulary.rs and src/models/bpe/model.rs. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "10_tokenizer/families.h"
#include "10_tokenizer/steps.h"
#include "10_tokenizer/words.h"

#include <jansson.h>

/* A token that is looked for in the text before anything else. */
typedef struct {
    int id;
    size_t length; /* of its name, as it is looked for */
    bool special, single_word, strips_left, strips_right;
} Added;

/* Added tokens that are looked for together. */
typedef struct {
    Names names; /* an id of these is a place in `added` */
    bool begins[256]; /* whether any begins with this byte */
} Wanted;

/* What a decoder is given for a token; nothing, if it is silent. */
typedef struct {
    const char *name;
    int length;
    bool silent;
} Spoken;

typedef struct Pipeline {
    Steps normalizer, pre_tokenizer, decoder;
    Added *added;
    int added_count;
    /* Those with "normalized" true are looked for when the text has been normalized, as they are. */
    Wanted in_text, in_normalized;
    char *normalized_names;
    Spoken *spoken; /* of every token */
    Pattern *word;
    bool byte_fallback, fuses_unknown; /* of what is in no token */
    bool encodes;     /* otherwise a family does, and it decodes alone */
    bool falls_apart; /* sentencepiece.h: a word may be cut where no token has its two characters side by side */
} Pipeline;

/* pipeline_json.c: all of it but the tokens. */
Pipeline *pipeline_read(const char *path, const json_t *json);

/* When all tokens are there: finds those that are added, and what each token adds to a text. `vocab` and `added` are
 * the file's. If a family encodes, only what decoding takes. */
void pipeline_complete(Tokenizer *tokenizer, const json_t *vocab, const json_t *added);
void pipeline_free(Pipeline *pipeline);

void pipeline_encode(const Tokenizer *tokenizer, bool begins, size_t length, const char *text, bool special, Ids *ids);
void pipeline_trim(const Pipeline *pipeline, int left, int right, const char *text, size_t *from, size_t *to);
Text pipeline_decode(const Tokenizer *tokenizer, size_t count, const int *ids);

/* fail()s with the value as JSON spells it: whatever it is, it stays on one line. */
_Noreturn void refuse(const char *path, const char *key, const json_t *value, const char *why);

/* Whether an object has these values, of JSON; it may have more. */
bool has_values(const json_t *object, const char *values);

#endif
