/* What a Llama is asked about the course's stories, however it is made: ablations.c makes mistakes
 * in one on purpose; tests/judge/mine.c runs one that has a reader's kernels in it.
 *
 * A story is a line; the lines after it are "Question: …" and "Answer: …" in turn. */
#ifndef STUDIES_EVAL_QUESTIONS_H
#define STUDIES_EVAL_QUESTIONS_H

#include "09_decoder/model.h"
#include "10_tokenizer/tokenizer.h"
#include "common/sentence.h"

enum {
    CAPACITY = 512,
    LETTERS = 2048
}; /* tokens of a text, and of one that is read letter by letter */

typedef struct Examinee Examinee;

struct Examinee {
    const Model *model;
    const Tokenizer *tokenizer;
    int capacity;             /* at most so many tokens: CAPACITY, or LETTERS */
    int length, ids[LETTERS]; /* the tokens read so far */
    /* How a text becomes tokens; NULL: as chapter 11 does it. */
    int *(*encode)(const Tokenizer *tokenizer, size_t length, const char *text, size_t *count);
    bool sees_ahead; /* without a mask: what was read has seen how that text went on, and is read
                        again */

    /* Reads T tokens after those `length`, and counts them, too. The logits are of the last `asked`
     * of them. */
    void (*read)(Examinee *examinee, int T, const int ids[T], int asked, int V,
                 float logits[asked][V]);
};

/* Reads a text of T >= 1 tokens from its beginning; what begins as the text before is not read
 * again. */
void read_text(Examinee *examinee, int T, const int ids[T], int V, float logits[V]);

/* Chooses the token that comes after the T that were read, or -1 for none; it may write to the
 * logits. */
typedef int Choose(Examinee *examinee, int T, const int ids[T], int V, float logits[V]);
Choose greedy;

/* Writes how it goes on after a prompt: at most so many tokens, up to one that ends with a letter
 * of `ends`. */
void say(Examinee *examinee, const char *prompt, int most, const char *ends, Choose *choose,
         FILE *file);

/* Each question of a story by itself, right after the story line: how many are answered rightly, to
 * the letter. */
int ask(Examinee *examinee, const char *story, int *questions);

/* -log p of all tokens of a text, its end too, is added to *sum. Returns how many tokens it should
 * be: who cuts the text into more has no smaller perplexity for it. */
int add_surprise(Examinee *examinee, const char *text, double *sum);

/* The stories of a text, between which stands a blank line: the text is cut into them, and their
 * number returned. */
int cut(char *text, int most, char *stories[most]);

/* What each study is of: a model, the stories on standard input, and the sentence that all chapters
 * have. */
#define OUR_MODEL ROOT "/common/stories/model"
enum { MOST_STORIES = 1000 };

typedef struct {
    Model model;
    Tokenizer *tokenizer;
    Sentence sentence;
    const char *prompt; /* the sentence's story and its question */
    int count;
    char *stories[MOST_STORIES], *text;
} Study;

Study study_open(const char *folder);
void study_close(Study *study);

#endif
