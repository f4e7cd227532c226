/* Chapter 11: what `llama` works with, and one text that it reads and writes, by the clock. */
#ifndef SESSION_H
#define SESSION_H

#include "11_generation/generation.h"
#include "11_generation/settings.h"

typedef struct {
    char *path, *tokenizer_path; /* the folder of each, or the .gguf */
    Model model;
    const Kernels *kernels;
    Tokenizer *tokenizer;
    const Words *words;
    Settings settings;
} Llama;

Llama llama_open(const Words *words);
void llama_close(Llama *llama);

/* How many positions there is room for: what is asked for, or else needed, but no more than the model was made for. */
int llama_context(const Llama *llama, size_t needed);

typedef struct {
    const Llama *llama;
    Generation generation;
    int read;                /* tokens */
    double reading, writing; /* seconds */
} Session;

extern volatile sig_atomic_t interrupted; /* Ctrl-C sets it: what is being written stops there */

/* `needed`: how many positions, as far as one knows. */
Session session_new(const Llama *llama, size_t needed);
void session_end(Session *session); /* says how fast it was */

/* What the session has read becomes these tokens: those that it begins with already are not read again. */
void session_read(Session *session, size_t count, const int ids[count]);

/* Writes so many tokens at most to standard output, and to `also`, if that is not NULL. */
Ending session_write(Session *session, bool skip_space, int most, FILE *also);

#endif
