/* Opens the tokenizer of any Llama that people publish: tokenizer.model of SentencePiece or
 * tiktoken, Hugging Face's tokenizer.json, llama2.c's tokenizer.bin, and GGUF. The content of a
 * file decides which of them it is, not its name. */
#ifndef TOKENIZER_ANY_H
#define TOKENIZER_ANY_H

#include "10_tokenizer/tokenizer.h"

/* PATH: a model's folder (tokenizer.json, else tokenizer.model, else tokenizer.bin), or one of
 * these files, or a .gguf. Or fail().
 *
 * BOS, the token that begins a text, is the first that exists of
 *     the token that the post_processor of tokenizer.json puts before a text;
 *     bos_token of tokenizer_config.json;
 *     <s> (SentencePiece) or <|begin_of_text|> (byte level);
 *     bos_token_id of config.json;
 * or -1. Whether it goes before a text says the post_processor, wherever there is a tokenizer.json;
 * otherwise it does unless add_bos_token of tokenizer_config.json is false. EOS is eos_token of
 * tokenizer_config.json, else </s> or <|end_of_text|>, else eos_token_id of config.json, else -1.
 * These files are those beside the tokenizer's own. Source: transformers 5.23, which does the same
 * with tokenizer.json, and reads add_bos_token only where it builds a tokenizer from a
 * tokenizer.model; where nothing says it, Meta's code and transformers 4 add BOS, and 5 does
 * not. */
Tokenizer *tokenizer_open_any(const char *path);

/* The same for a file's bytes, without the files beside it and without GGUF. A NUL follows the
 * bytes, which become the tokenizer's. `path` is for messages. */
Tokenizer *tokenizer_parse_any(const char *path, size_t length, char *bytes);

/* Whether a folder has one of these files. */
bool has_tokenizer_file(const char *folder);

/* The directory with a model's other files (tokenizer, configuration): the model's own directory,
 * the one that contains its weights, or the .gguf itself. The caller frees it. */
char *model_directory(const char *model);

/* Whether a tokenizer that is known here lies in the model's folder, beside it, or in the .gguf. */
bool model_has_tokenizer(const char *model);

/* For a model without one, where only ids go in and out: no id has a text, and there are neither
 * BOS nor EOS. */
Tokenizer *tokenizer_without_tokens(void);

/* The tokenizer that option --tokenizer names, or if that is NULL, the model's. */
Tokenizer *tokenizer_of_model(const char *model, const char *named);

#endif
