/* A model that is open with its tokenizer, and a session with it: tokens that are read and
 * generated, and how long that takes. */
#ifndef SESSION_H
#define SESSION_H

#include "11_generation/generation.h"
#include "14_engine/args.h"

typedef struct {
    char *path, *tokenizer_path; /* the directory of each, or the .gguf */
    Model model;
    const Kernels *kernels;
    Tokenizer *tokenizer;
    const Args *args;
    Settings settings;
} Llama;

Llama llama_open(const Args *args);
void llama_close(Llama *llama);

/* The context: what --ctx-size says, or else the positions that are needed, but no more than the
 * model was made for. */
int llama_context(const Llama *llama, size_t needed);

typedef struct {
    const Llama *llama;
    Generation generation;
    int read;                /* tokens of the prompt that went through the decoder */
    double reading, writing; /* seconds */
} Session;

extern volatile sig_atomic_t interrupted; /* set by Ctrl-C: generation stops there */

/* `needed`: an estimate of the positions that it will use. */
Session session_new(const Llama *llama, size_t needed);
void session_end(Session *session); /* prints the speeds */

/* Makes these tokens the ones that the session has read. Those of them that the cache begins with
 * already are not read again. */
void session_read(Session *session, size_t count, const int ids[count]);

/* Generates at most so many tokens, and writes their text to standard output, and to `also`, if
 * that is not NULL. */
FinishReason session_write(Session *session, bool skip_space, int most, FILE *also);

#endif
