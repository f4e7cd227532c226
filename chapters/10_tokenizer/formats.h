/* The four formats of tokenizer files. Each returns the tokenizer that the file's bytes are, or fail()s; a NUL follows the
 * bytes, and they become the tokenizer's. `path` is for messages. */
#ifndef FORMATS_H
#define FORMATS_H

#include "10_tokenizer/families.h"

Tokenizer *sentencepiece_read(const char *path, size_t length, char *bytes); /* tokenizer.model of Llama 1 and 2 */
Tokenizer *llama2c_read(const char *path, size_t length, char *bytes);       /* tokenizer.bin of llama2.c */
Tokenizer *tiktoken_read(const char *path, size_t length, char *bytes);      /* tokenizer.model of Llama 3 */
Tokenizer *hugging_face_read(const char *path, size_t length, char *bytes);  /* tokenizer.json of either family */

#endif
