/* The names that a GGUF file has for the ways to split a text into words before its bytes merge,
 * tokenizer.ggml.pre, and what each stands for. */
#ifndef GGUF_SPLITS_H
#define GGUF_SPLITS_H

#include <stdbool.h>

enum { GGUF_PATTERNS = 6 };

/* Stands for the pre-tokenizer Digits: each digit by itself. */
#define GGUF_DIGITS "digits"

typedef struct {
    const char *names;                   /* with a blank before and behind each */
    bool ignore_merges;                  /* a word that is a token becomes it */
    bool adds_bos;                       /* where the file does not say it */
    const char *patterns[GGUF_PATTERNS]; /* each splits what those before it left whole */
} GgufSplit;

/* NULL if no split of that name is known. */
const GgufSplit *gguf_split_named(const char *name);

#endif
