/* The JSON files beside a tokenizer's own: tokenizer_config.json, added_tokens.json, config.json,
 * and the tokenizer.json beside a tokenizer.model. They add tokens to SentencePiece's, and say what
 * BOS and EOS are: tokenizer_any.h. */
#ifndef TOKENIZER_CONFIG_H
#define TOKENIZER_CONFIG_H

#include "10_tokenizer/tokenizer_internal.h"

/* `path` is the tokenizer's own file. */
void tokenizer_config_read(Tokenizer *tokenizer, const char *path);

#endif
