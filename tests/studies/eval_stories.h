/* What a model says of its own, a token after another, and what the generator of its stories says
 * of that. */
#ifndef STUDIES_EVAL_STORIES_H
#define STUDIES_EVAL_STORIES_H

#include "11_generation/generation.h"

/* How a model goes on after a prompt: the bytes of so many tokens at most, up to its own end. The
 * caller frees. */
char *said_after(const Model *model, const Tokenizer *tokenizer, const char *prompt, int most,
                 SamplingParams sampling, Random *random);

/* Each question of a story by itself, right after the story; the answer's first line is written
 * behind it. */
enum { STORY = 500, ANSWER = 16 }; /* tokens that one may have */
void answer_all(const Model *model, const Tokenizer *tokenizer, const char *story,
                SamplingParams sampling, Random *random, FILE *file);

/* What the judge, build/stories, says of stories. */
typedef struct {
    int consistent, told; /* stories, of so many */
    int right, asked;     /* answers, of so many questions */
} Verdict;

Verdict judge_stories(const char *program, const char *stories);

#endif
