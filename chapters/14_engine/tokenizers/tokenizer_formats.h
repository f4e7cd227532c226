/* The formats of tokenizer files beside Meta's own. Each reader returns the tokenizer that the
 * file's bytes are, or fail()s; a NUL follows the bytes, and they become the tokenizer's. `path` is
 * for messages. */
#ifndef TOKENIZER_FORMATS_H
#define TOKENIZER_FORMATS_H

#include "10_tokenizer/tokenizer_internal.h"

Tokenizer *llama2c_tokenizer_read(const char *path, size_t length,
                                  char *bytes); /* tokenizer.bin of llama2.c */
Tokenizer *hugging_face_read(const char *path, size_t length, char *bytes); /* tokenizer.json */

/* The tokenizer that the value of a tokenizer.json describes. The value becomes the tokenizer's. */
struct json_t;
Tokenizer *hugging_face_of(const char *path, struct json_t *json);

/* A GGUF file has a tokenizer beside the weights, which are not read. */
Tokenizer *gguf_tokenizer(const char *path);

/* Whether it has one, of a kind and with a split that are known here. */
bool gguf_has_tokenizer(const char *path);

/* The fields of a GGUF file that describe a tokenizer. A tokenizer.json that does more than GGUF
 * can express is refused. */
struct GgufPairs;
void gguf_tokenizer_pairs(const Tokenizer *tokenizer, struct GgufPairs *pairs);

#endif
