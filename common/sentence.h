/* One sentence runs through the whole course: "Mia gave the red ball to Anna. …", read by the model
 * of chapter 9. PyTorch ran it once, and what every step was given and gave lies in
 * tests/golden/sentence.safetensors; tests/golden/README.md says what each tensor is. A chapter
 * opens it and shows its own step on these tokens:
 *
 *     Sentence s = sentence_open();
 *     int T = s.T, H = s.H, D = s.D;
 *     const float(*q)[H][D] = sentence_tensor(&s, "attention/q", 3, T, H, D);
 *     float *weight = sentence_weight(&s, "input_layernorm", 1, s.C);
 *     for (int t = 0; t < T; t++) table_row(&table, "%s|%.2f", s.token[t], q[t][s.head][0]); */
#ifndef COMMON_SENTENCE_H
#define COMMON_SENTENCE_H

#include "common/safetensors.h"

typedef struct {
    int T, C, L, H, KV, D, F, V; /* tokens, and the model's sizes */
    int layer,
        head; /* whose steps these are, from 0. The last token's query of this head attends to … */
    int owner;         /* … this token, who has the ball */
    const int *ids;    /* [T] */
    char **token;      /* [T]: the text of each, a new line as "\n" */
    char **vocabulary; /* [V]: the text of every token that the model knows */
    float eps;         /* of the norms */
    double rope_theta;
    SafeTensors file, model;
} Sentence;

Sentence sentence_open(void); /* or fail() */
void sentence_close(Sentence *sentence);

/* A float32 tensor of the sentence, where it lies in the file: there until the sentence is closed.
 * fail() unless its shape is this: `rank` ints, outermost first. */
const void *sentence_tensor(const Sentence *sentence, const char *name, int rank, ...);

/* A weight of the sentence's layer by its name in the model, "self_attn.o_proj" or "mlp.gate_proj",
 * its shape checked as above; in float32, to be freed with free(). A weight that belongs to no
 * layer, "model.norm" or "model.embed_tokens": sentence_model_weight. */
void *sentence_weight(const Sentence *sentence, const char *name, int rank, ...);
void *sentence_model_weight(const Sentence *sentence, const char *name, int rank, ...);

/* How many of `count` numbers are farther from PyTorch's than a one in that decimal place; a NaN
 * is. And a line that says so. It is what a lesson shows: tests/kernels/test_sentence.c is the
 * judge, and strict. */
int sentence_count_mismatches(int decimals, int count, const float got[count],
                              const float expected[count]);
void sentence_compare(int decimals, int count, const float got[count], const float expected[count]);

#endif
