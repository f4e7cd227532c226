/* Chapter 17: the folder that a run makes, DIR of --out: a Hugging Face folder, with config.json,
 * model.safetensors and the tokenizer's files; and of the run itself checkpoint.safetensors and
 * log.csv. */
#ifndef FOLDER_H
#define FOLDER_H

#include "10_tokenizer/tokenizer.h"
#include "16_backward/parameters.h"
#include "common/file.h"

enum { FOLDER_PATH = 4096 };

/* FOLDER/NAME; too long a path is refused. */
const char *in_folder(char path[static FOLDER_PATH], const char *folder, const char *name);

/* Makes the folder if it is not there, and keeps others out while the program lives. Refused:
 * another run is at work in it, or there is something in it that would be lost: a run that is not
 * to be resumed, or a model of somebody else. */
void folder_claim(const char *folder, bool resume);

/* Copies the config.json, with what a Llama's must say whose weights are in float32 or BF16, and
 * the tokenizer's files, if there is one. */
void folder_describe(const char *folder, const char *config_path, DType dtype,
                     const char *tokenizer_folder, const Tokenizer *tokenizer);

void folder_save_model(const char *folder, const Parameters *weights,
                       DType dtype); /* model.safetensors */

#endif
