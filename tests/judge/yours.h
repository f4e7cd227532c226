/* A Llama in its plainest form, made of the chapters' kernels, in which a reader's stand in place of ours, right or
 * wrong. Its process may end in any of them: what is under way is noted where others can read it. */
#ifndef VERIFY_YOURS_H
#define VERIFY_YOURS_H

#include "09_decoder/decoder.h"
#include "tests/studies/eval_questions.h"
#include "tests/judge/sandbox.h"

/* Where in a Llama something is done. */
enum { IN_ATTENTION = 1, IN_FEED_FORWARD = 2, AT_THE_END = 4, FOR_LOGITS = 8, ELSEWHERE = 16 };

/* A kernel that the Llama is made of. */
typedef struct {
    const char *name, *use;
    int places;            /* where it is used */
    const char *unless[5]; /* the reader's kernels that do its work, too; NULL past the last */
    int covers;            /* the places where all is done by it */
} Part;

enum { PARTS = 27 };
extern const Part parts[PARTS];
int part_named(const char *name); /* -1: a Llama does without it */

/* Of several of the reader's kernels that do the same work one is used. The others are taken out of `has`, and
 * instead[part] is who does it. */
void settle(bool has[PARTS], const char *instead[PARTS]);

enum { CUTTING = -2 }; /* a text into tokens */

/* What is under way. */
typedef struct {
    const char *kernel; /* the one that was called last; NULL: none yet */
    bool is_yours;
    const char *asked;  /* by it, a kernel of the reader's that is in another file; NULL: none */
    int layer;          /* CUTTING; -1: before the first; L: after the last */
    int first, last;    /* the tokens that are being read */
    double deadline;    /* of the processor's seconds; 0: none */
    bool too_slow;      /* it has come to that */
} Underway;

typedef struct {
    Examinee examinee;
    const Function *yours;  /* [PARTS]: NULL where ours is used */
    Underway *underway;
    Decoder decoder;              /* for the reader's blocks; its cache and its angles are ours as well */
    Tensor embed_tokens, lm_head; /* the model's, in float32, */
    Layer *layers;                /* and those of its layers */
    struct YourRoom *room;        /* to work in */
} YourLlama;

/* `yours` as settled. */
YourLlama your_llama(const Model *model, const Tokenizer *tokenizer, const Function yours[PARTS], Underway *underway);
void your_llama_free(YourLlama *llama);

/* From now on the tokenizer merges with the reader's bpe_merge, if there is one; of several Llamas, the last one
 * counts. */
void let_it_merge(const YourLlama *llama, Tokenizer *tokenizer);

/* The next token as chapter 11 draws it, by all of its samplers. */
Choose drawn;

#endif
