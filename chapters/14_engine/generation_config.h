/* The rules of generation that a model brings with it: generation_config.json in its folder, the
 * tokens that end a text, and a vocabulary that its tokenizer must share. */
#ifndef GENERATION_CONFIG_H
#define GENERATION_CONFIG_H

#include "09_decoder/model.h"
#include "10_tokenizer/tokenizer.h"
#include "11_generation/sampling.h"

/* Reads the folder's generation_config.json, if there is one. It replaces, in `sampling`,
 * temperature, top_k, top_p, min_p and repetition_penalty, and the temperature by 0 where do_sample
 * is false; in `config`, the eos_token_id of config.json. A key that it does not have changes
 * nothing. Or fail(). */
void generation_config_read(const char *folder, SamplingParams *sampling, Config *config);

/* Adds ChatML's <|im_end|>, if the tokenizer has it, to the tokens that end a text: models of other
 * families end their answers with it, whatever their config.json says. */
void add_chatml_end(Config *config, const Tokenizer *tokenizer);

/* Some models have more rows than their tokenizer has tokens, and a note says so. To some
 * tokenizers a few tokens were added for which the model has no row, such as <pad>: who uses one is
 * told. Where neither explains it, fail(). */
void check_vocabularies(const Model *model, const Tokenizer *tokenizer, bool notes);

#endif
