#include "17_training/recipe.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers, word by word; NULL for what the command line does not say. */
typedef struct {
    const char *resume, *cut, *apart, *in_order, *plot, *bf16, *mixed, *otherwise, *steps, *warmup, *batch, *length,
        *threads, *save, *validate, *sample, *rate, *muon, *lowest, *decay, *beta1, *beta2, *eps, *clip, *seed;
} Words;

static int whole_or(const char *name, const char *text, int otherwise, int low) {
    return text ? (int)option_number(name, text, (unsigned long)low, INT_MAX / 2) : otherwise;
}

static float decimal_or(const char *name, const char *text, double otherwise, double low, double high) {
    return (float)(text ? option_decimal(name, text, low, high) : otherwise);
}

int recipe_reads_standard_input(const Recipe *r) {
    int count = r->valid && strcmp(r->valid, "-") == 0;
    for (int i = 0; i < r->data_count; i++) count += strcmp(r->data[i], "-") == 0 || strncmp(r->data[i], "-:", 2) == 0;
    return count;
}

/* Of two options that do not go together, one would be ignored without a word. */
static void check(const Recipe *r, const Words *w) {
    if (!r->out) usage_error("--out DIR is missing");
    if (!r->config == !r->model)
        usage_error("name a --config FILE to begin with random weights, or a --model DIR to begin with its own");
    if (!r->data[0]) usage_error("--data FILE is missing");
    if (recipe_reads_standard_input(r) > 1) usage_error("-: of all files, one alone can be standard input");
    if (r->learn_after && !*r->learn_after) usage_error("--learn-after needs a text");
    if (w->otherwise && !r->learn_after) usage_error("--otherwise %s needs a --learn-after TEXT", w->otherwise);
    if (r->muon > 0 && !(r->rate > 0)) usage_error("--muon rises and falls as --rate does: that must be above 0");
    if (w->validate && !r->valid) usage_error("--validate %s needs a --valid FILE", w->validate);
    if (r->prompt && !r->sample) usage_error("--prompt needs a --sample N");
    if (r->lowest > r->rate) usage_error("--lowest %g is above the --rate of %g", r->lowest, r->rate);
    if (r->steps >= 0 && r->warmup > r->steps)
        usage_error("--warmup %d is longer than the %d --steps", r->warmup, r->steps);
}

static void take_words(Recipe *r, const Words *w) {
    r->resume = w->resume, r->cut = w->cut, r->in_order = w->in_order, r->plot = w->plot, r->bf16 = w->bf16;
    r->apart = w->apart, r->mixed = w->mixed;
    r->steps = whole_or("steps", w->steps, -1, 1), r->warmup = whole_or("warmup", w->warmup, -1, 0);
    r->batch = whole_or("batch", w->batch, 8, 1), r->length = whole_or("length", w->length, 0, 2);
    r->threads = w->threads ? (int)option_number("threads", w->threads, 1, 1024) : 0;
    r->save = whole_or("save", w->save, 100, 1), r->sample = whole_or("sample", w->sample, 0, 1);
    r->validate = r->valid ? whole_or("validate", w->validate, r->save, 1) : 0;
    r->rate = decimal_or("rate", w->rate, 0.001, 0, 100);
    r->muon = decimal_or("muon", w->muon, 0, 0, 100);
    r->lowest = decimal_or("lowest", w->lowest, (double)r->rate / 10, 0, 100);
    r->decay = decimal_or("decay", w->decay, 0.1, 0, 100), r->eps = decimal_or("eps", w->eps, 1e-8, 1e-30, 1);
    r->beta1 = decimal_or("beta1", w->beta1, 0.9, 0, 0.999999);
    r->beta2 = decimal_or("beta2", w->beta2, 0.95, 0, 0.999999);
    r->clip = decimal_or("clip", w->clip, 1, 0, 1e9);
    r->otherwise = decimal_or("otherwise", w->otherwise, 0, 0, 1000);
    r->seed = w->seed ? option_number("seed", w->seed, 0, UINT32_MAX) : 1;
    while (r->data_count < OPTION_TIMES && r->data[r->data_count]) r->data_count++;
}

Recipe recipe_read(int argc, char **argv) {
    Recipe r = {0};
    Words w = {0};
    const Option options[] = {
        {"config", "FILE", "a config.json: the model's shape; its weights begin as random numbers", &r.config},
        {"model", "DIR", "a Hugging Face folder: begin with its weights, shape and tokenizer instead", &r.model},
        {"tokenizer", "DIR", "whose tokenizer it is; without it, that beside config.json", &r.tokenizer},
        {"data", "FILE[:weight[:epochs]] …", "a text, tokens (.safetensors) or -; its share; how often it is read at "
         "most", r.data},
        {"learn-after", "TEXT", "learn only what follows this in its line, such as \"Answer:\"", &r.learn_after},
        {"otherwise", "X", "how much every other token counts then, where those count 1 (0)", &w.otherwise},
        {"cut", NULL, "a document may go on in the next sequence: then none is too long, and no room is left", &w.cut},
        {"apart", NULL, "no token sees the documents that stand before its own in the sequence", &w.apart},
        {"in-order", NULL, "the sequences as they stand in their file, and not shuffled", &w.in_order},
        {"out", "DIR", "the folder that becomes the model, with checkpoint.safetensors and log.csv", &r.out},
        {"resume", NULL, "go on from the checkpoint in --out, if there is one: the same bits as without a stop",
         &w.resume},
        {"steps", "N", "steps; without it, until every file is read as often as it says, or once", &w.steps},
        {"batch", "N", "sequences a step (8)", &w.batch},
        {"length", "N", "tokens of a sequence (512, or the model's context if that is less)", &w.length},
        {"rate", "X", "the highest learning rate (0.001)", &w.rate},
        {"muon", "X", "the layers' matrices by Muon, with this as their highest rate (0: by AdamW, too)", &w.muon},
        {"warmup", "N", "steps until it is reached (a twentieth of all)", &w.warmup},
        {"lowest", "X", "the rate at the end of the cosine (a tenth of --rate)", &w.lowest},
        {"decay", "X", "weight decay of the matrices (0.1)", &w.decay},
        {"beta1", "X", "AdamW: how much of the mean of the gradients is kept each step (0.9)", &w.beta1},
        {"beta2", "X", "the same of the mean of their squares (0.95)", &w.beta2},
        {"eps", "X", "what is added to the root of that (1e-8)", &w.eps},
        {"clip", "X", "the largest norm of all gradients together; 0 does not clip (1)", &w.clip},
        {"seed", "N", "of the first weights and of the order of the data (1)", &w.seed},
        {"valid", "FILE", "what the loss is measured on, too, without learning from it", &r.valid},
        {"validate", "N", "every so many steps (as --save)", &w.validate},
        {"sample", "N", "let the model write every so many steps", &w.sample},
        {"prompt", "TEXT", "what it goes on with then", &r.prompt},
        {"save", "N", "a checkpoint, and the model, every so many steps (100)", &w.save},
        {"bf16", NULL, "the model in BF16, half as large; the checkpoint keeps float32", &w.bf16},
        {"mixed", NULL, "mixed precision: matrices are rounded to BF16 where they are multiplied, and nothing else is",
         &w.mixed},
        {"plot", NULL, "draw the loss at the end, in the terminal and as loss.svg in --out (gnuplot)", &w.plot},
        {"threads", "N", "how many; another number rounds otherwise (all; one for a tiny model)", &w.threads},
    };
    only_options(argc, argv, "--config FILE|--model DIR --data FILE[:weight[:epochs]] … --out DIR [--resume] …",
                 "Trains a Llama by AdamW, or Muon and AdamW, from nothing or on from a model. Ctrl-C saves and stops; "
                 "killed at any moment, too, it goes on with --resume.",
                 sizeof options / sizeof *options, options);
    take_words(&r, &w);
    check(&r, &w);
    if (!r.prompt) r.prompt = "";
    return r;
}

/* A whole number, or the fewest digits that are this float32 again. */
static void number_text(char text[NUMBER], double value) {
    for (int digits = value == floor(value) ? 17 : 1; digits <= 17; digits++) {
        snprintf(text, NUMBER, "%.*g", digits, value);
        if ((float)strtod(text, NULL) == (float)value) break;
    }
}

void recipe_ingredients(const Recipe *r, Ingredients *in) {
    const struct {
        const char *name;
        double value;
    } all[INGREDIENTS] = {{"steps", r->steps}, {"batch", r->batch}, {"length", r->length}, {"rate", r->rate},
                          {"warmup", r->warmup}, {"lowest", r->lowest}, {"decay", r->decay}, {"beta1", r->beta1},
                          {"beta2", r->beta2}, {"eps", r->eps}, {"clip", r->clip}, {"seed", (double)r->seed},
                          {"cut", r->cut}, {"muon", r->muon}, {"in-order", r->in_order},
                          {"mixed", r->mixed}, {"apart", r->apart}};
    for (int i = 0; i < INGREDIENTS; i++) {
        number_text(in->text[i], all[i].value);
        in->each[i] = (Metadata){all[i].name, in->text[i]};
    }
}
