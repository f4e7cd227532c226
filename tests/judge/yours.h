/* The decoder with a reader's kernels, right or wrong, in its table. Its process may end in any of
 * them: what is under way is noted where others can read it. */
#ifndef VERIFY_YOURS_H
#define VERIFY_YOURS_H

#include "09_decoder/decoder.h"
#include "tests/studies/eval_questions.h"
#include "tests/judge/sandbox.h"

/* Where in a Llama something is done. */
enum {
    IN_ATTENTION = 1,
    IN_FEED_FORWARD = 2,
    AT_THE_END = 4,
    FOR_LOGITS = 8,
    ELSEWHERE = 16,
    IN_TRAINING = 32 /* of a small model, not of the Llama that speaks */
};

/* A kernel that a Llama can be made of. */
typedef struct {
    const char *name, *use;
    int places;            /* where it is used */
    const char *member;    /* of the table of kernels, which computes with it; NULL: none does */
    const char *unless[5]; /* the reader's kernels that do its work, too; NULL past the last */
    int covers; /* the places where all is done by it: it is a block of the decoder, or the whole of
                   it */
} Part;

enum { PARTS = 36 };
extern const Part parts[PARTS];
int part_named(const char *name); /* -1: a Llama does without it */

/* Of several of the reader's kernels that do the same work one is used. The others are taken out of
 * `has`, and instead[part] is who does it. */
void resolve_overrides(bool has[PARTS], const char *instead[PARTS]);

enum { CUTTING = -2, TRAINING = -3 }; /* a text into tokens; and a small model */

/* What is under way. */
typedef struct {
    const char *kernel; /* the one that was called last; NULL: none yet */
    bool is_yours;
    bool is_block;     /* it calls others of the table: */
    const char *asked; /* the reader's kernel that it called last; NULL: none */
    int layer;         /* CUTTING, TRAINING; -1: before the first; L: after the last */
    int first, last;   /* the tokens that are being read; or the step of training */
    double deadline;   /* of the processor's seconds; 0: none */
    bool too_slow;     /* it has come to that */
} Requests;

typedef struct {
    Examinee examinee;
    Decoder decoder;
} YourLlama;

/* The Llama with the reader's kernels, those of `yours` [PARTS] that are not NULL. A table of
 * kernels knows no Llama: one at a time computes with them. */
YourLlama your_llama(const Model *model, const Tokenizer *tokenizer, const Function yours[PARTS],
                     Requests *underway);
void your_llama_free(YourLlama *llama);

/* In which format the Llama stores its projections: in the one that the reader has kernels of. */
typedef enum { AS_THEY_ARE, IN_Q8_0, IN_Q5_0, IN_Q4_0 } Storage;
Storage storage_for(const bool has[PARTS]);

/* Ours computes with the reader's storage, too, so that both can be compared: after your_llama().
 */
void store_projections(Storage storage);

/* Trains chapter 17's small model with the reader's kernels: so many steps. Gives its loss. */
double train_yours(int steps, const Function yours[PARTS], Requests *underway);

/* From now on the tokenizer merges with the reader's bpe_merge, if there is one. */
void let_it_merge(Tokenizer *tokenizer);

/* The next token, drawn by all samplers. */
Choose drawn;

#endif
