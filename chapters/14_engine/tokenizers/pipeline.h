/* Other people's tokenizers. A tokenizer.json says step by step what happens to a text and to
 * tokens. Two ways of filling that in are Llama's families, and 10_tokenizer encodes them; every
 * other one runs here as the library tokenizers runs it, as far as its steps are known. Source:
 * tokenizers 0.23, src/tokenizer/added_vocabulary.rs and src/models/bpe/model.rs. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "10_tokenizer/tokenizer_internal.h"
#include "14_engine/tokenizers/steps.h"

#include <jansson.h>

/* A token that is looked for in the text before anything else. */
typedef struct {
    int id;
    size_t length; /* of its name, as it is looked for */
    bool special, single_word, lstrip, rstrip;
} Added;

/* Added tokens that are looked for together. */
typedef struct {
    NameTable names;  /* an id of these is a place in `added` */
    bool begins[256]; /* whether any begins with this byte */
} AddedTokenTrie;

/* The text that a decoder is given for a token; nothing, if the token is silent. */
typedef struct {
    const char *name;
    int length;
    bool silent;
} DecodedToken;

typedef struct Pipeline {
    Steps normalizer, pre_tokenizer, decoder;
    Added *added;
    int added_count;
    /* Tokens with "normalized" true are looked for when the text has been normalized, as they
     * are. */
    AddedTokenTrie in_text, in_normalized;
    char *normalized_names;
    DecodedToken *decoded;        /* of every token */
    bool byte_fallback, fuse_unk; /* for what no token spells */
    /* word_length(): a word may be cut where no token has its two characters side by side */
    bool falls_apart;

    struct Charsmap *charsmap; /* of a SentencePiece tokenizer.model */
    json_t *json;              /* the file, which the tokens' names point into */
    char *added_names;         /* names of tokens that a folder adds */
} Pipeline;

/* The tokenizer's pipeline; an empty one, if it had none. */
Pipeline *pipeline_of(Tokenizer *tokenizer);

/* pipeline_config.c: all of it but the tokens. */
void pipeline_read(Pipeline *pipeline, const char *path, const json_t *json);

/* Called when all tokens are there. The first makes the pipeline decode what a family encodes; the
 * second makes it do everything, and finds the added tokens. `vocab` and `added` are the file's. */
void pipeline_decodes(Tokenizer *tokenizer);
void pipeline_encodes(Tokenizer *tokenizer, const json_t *vocab, const json_t *added);
/* Makes the tokenizer do to every text what its tokenizer.model asks for. */
void pipeline_uses_charsmap(Tokenizer *tokenizer, const char *path);

void pipeline_free(Pipeline *pipeline);

/* fail()s with the value as JSON spells it: whatever it is, it stays on one line. */
_Noreturn void refuse_json(const char *path, const char *key, const json_t *value, const char *why);

/* Whether an object has these values, of JSON; it may have more. */
bool has_values(const json_t *object, const char *values);

#endif
