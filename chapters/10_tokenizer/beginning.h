/* What the files of a folder say beside a tokenizer's own: of BOS and EOS, for which tokenizer.h tells the rules, and
 * of tokens more. */
#ifndef BEGINNING_H
#define BEGINNING_H

#include "10_tokenizer/families.h"

/* A tokenizer.json's post_processor. `path` is the file's, for messages. */
void beginning_of_json(Tokenizer *tokenizer, const char *path, const struct json_t *json);

/* What lies beside the tokenizer's own file: another tokenizer.json, tokenizer_config.json and config.json. */
void beginning_of_folder(Tokenizer *tokenizer, const char *path);

/* added.c: the tokens that a folder adds to a tokenizer.model of SentencePiece. */
void added_of_folder(Tokenizer *tokenizer, const char *path);

/* The JSON of that name in the folder of `file`, or NULL if there is none; `path` becomes where. */
enum { BESIDE_PATH = 4096 };
struct json_t *json_beside(char path[static BESIDE_PATH], const char *file, const char *name);

#endif
