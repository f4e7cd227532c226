/* What the files of a folder say of BOS; tokenizer.h tells the rule. */
#ifndef BEGINNING_H
#define BEGINNING_H

#include "10_tokenizer/families.h"

/* A tokenizer.json's post_processor. `path` is the file's, for messages. */
void beginning_of_json(Tokenizer *tokenizer, const char *path, const struct json_t *json);

/* What lies beside the tokenizer's own file: another tokenizer.json, tokenizer_config.json and config.json. */
void beginning_of_folder(Tokenizer *tokenizer, const char *path);

#endif
