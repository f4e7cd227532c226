/* What main.c demonstrates, a part of the lesson each. Every function prints its own sections. */
#ifndef LESSON_H
#define LESSON_H

#include "10_tokenizer/tokenizer.h"
#include "09_decoder/model.h"

/* A GGUF file's first fields, its pairs and its tensors. */
void show_gguf(const char *path);

/* A text after each step of a tokenizer.json. */
void show_pipeline(const char *title, const char *path, const char *text);

/* The course's question, asked with one mistake at a time. `text` is the prompt. */
void show_mistakes(const Model *model, Tokenizer *tokenizer, const char *text);

#endif
