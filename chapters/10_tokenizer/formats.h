/* The four formats of tokenizer files. Each returns the tokenizer that the file's bytes are, or fail()s; a NUL follows
 * the bytes, and they become the tokenizer's. `path` is for messages. */
#ifndef FORMATS_H
#define FORMATS_H

#include "10_tokenizer/families.h"

Tokenizer *sentencepiece_read(const char *path, size_t length, char *bytes); /* tokenizer.model of Llama 1 and 2 */
Tokenizer *llama2c_read(const char *path, size_t length, char *bytes);       /* tokenizer.bin of llama2.c */
Tokenizer *tiktoken_read(const char *path, size_t length, char *bytes);      /* tokenizer.model of Llama 3 */
Tokenizer *hugging_face_read(const char *path, size_t length, char *bytes);  /* tokenizer.json of either family */

/* A GGUF file has a tokenizer of either family beside the weights, which are not read. */
Tokenizer *gguf_tokenizer(const char *path);

/* What such a file says of a tokenizer. A tokenizer.json that does more than GGUF has words for is refused. */
struct GgufPairs;
void gguf_tokenizer_pairs(const Tokenizer *tokenizer, struct GgufPairs *pairs);

#endif
