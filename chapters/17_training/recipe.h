/* Chapter 17: what `train` is asked for. */
#ifndef RECIPE_H
#define RECIPE_H

#include "common/options.h"
#include "common/safetensors.h"

typedef struct {
    const char *config, *model, *tokenizer, *out, *valid, *learn_after; /* NULL where nothing was said */
    const char *prompt; /* "" */
    const char *data[OPTION_TIMES];
    int data_count;
    bool resume, cut, apart, in_order, plot, bf16, mixed;
    int steps, warmup;       /* -1: not said, which depends on the data */
    int batch, length;       /* sequences, and their tokens; 0: not said */
    int threads;             /* 0: not said, which depends on the model */
    int save, validate, sample;
    float rate, muon, lowest, decay, beta1, beta2, eps, clip, otherwise;
    unsigned long seed;
} Recipe;

/* The command line, or usage_error(). */
Recipe recipe_read(int argc, char **argv);

/* How many of its files are -: with a share, too. */
int recipe_reads_standard_input(const Recipe *recipe);

/* What two runs must have in common to end with the same numbers, each as its option says it. */
enum { INGREDIENTS = 17, NUMBER = 48 }; /* of a number's letters; compilers reckon with 40 */
typedef struct {
    Metadata each[INGREDIENTS];
    char text[INGREDIENTS][NUMBER];
} Ingredients;
void recipe_ingredients(const Recipe *recipe, Ingredients *ingredients);

#endif
