/* The judge as a library, for other languages: notebooks/llama_kernels calls it. A judging holds
 * the cases of one kernel, what was answered to each, and what is to be said of that. The golden
 * cases come first; others can be added, whose answer is that of the chapter's own kernel. */
#ifndef JUDGE_API_H
#define JUDGE_API_H

#include "tests/judge/diagnosis.h"

typedef struct Judging Judging;

#pragma GCC visibility push(default) /* the library's own names, which others call */

/* The golden files' folder; the default is that of the source tree. */
void judge_use_golden(const char *folder);
const char *judge_kernel(int index);  /* the kernels' names; NULL after the last */
const char *judge_chapter(int index); /* the folder of its header */
int judge_sizes(int which); /* sizeof: 0 Tensor, 1 size_t: a caller's structs must match */

Judging *judging_open(const char *kernel); /* NULL: there is no such kernel */
void judging_close(Judging *judging);

int judging_cases(const Judging *judging);
const char *judging_case(const Judging *judging, int index);
const char *judging_sentence(const Judging *judging, int index);
int judging_input_count(const Judging *judging, int index);
const Tensor *judging_input(const Judging *judging, int index, int input);
const char *judging_words(const Judging *judging, const char *input); /* words_on_input() */
const Tensor *judging_expected(const Judging *judging, int index);

/* Adds a case with these inputs, whose output has the type and shape of `output` (its data is not
 * read). With a tolerance of 0 an answer may be off from our kernel's by what own_answer()
 * measures. Otherwise it is in ulps of float32: of the largest number of the output; or, if `like`
 * is a case of the same shape, of each row's. Then its stored mistakes are known here, too: each as
 * far from our answer as it is there from PyTorch's. Returns the index; -1 if our kernel refuses
 * it. */
int judging_add(Judging *judging, const char *name, int input_count, const Tensor inputs[],
                const Tensor *output, double tolerance, int like);

/* Adds so many random cases of this seed, by random_cases(). Returns the first's index. */
int judging_add_random(Judging *judging, unsigned long seed, int count);

/* What came out: an array, why there is none, or what is wrong although the array is right. */
void judging_answer(Judging *judging, int index, const Tensor *got);
void judging_trouble(Judging *judging, int index, const char *trouble);
void judging_later(Judging *judging, int index, const char *words);

/* The verdict on one case: does it pass, how many numbers are wrong, the largest error, the same in
 * ulps of float32, and PyTorch's own. `first_wrong` is "[0, 3]: got 1, expected 2". */
typedef struct {
    int passes;
    size_t wrong, count;
    double worst, ulps, reference;
    char first_wrong[WORDS];
} CaseVerdict;
CaseVerdict judging_verdict(const Judging *judging, int index);

/* All cases that were answered: the report, as `make verify` prints it, into a file; and the
 * diagnosis. Each returns how many cases pass. */
int judging_report(const Judging *judging, const char *source, const char *path);
int judging_diagnose(const Judging *judging, char mistake[static DIAGNOSIS],
                     char advice[static DIAGNOSIS]);

/* The stored mistakes and a sentence on each; NULL after the last. */
const char *judging_mistake(const Judging *judging, int index);
const char *judging_advice(const Judging *judging, const char *mistake);

#pragma GCC visibility pop

#endif
