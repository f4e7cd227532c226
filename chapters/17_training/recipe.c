#include "17_training/recipe.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers, word by word; NULL for what the command line does not say. */
typedef struct {
    const char *resume, *split_documents, *document_mask, *no_shuffle, *plot, *bf16, *matmul_bf16,
        *loss_weight_else, *steps, *warmup, *batch_size, *seq_len, *threads, *save_every,
        *eval_every, *sample_every, *lr, *muon_lr, *min_lr, *weight_decay, *beta1, *beta2, *eps,
        *max_grad_norm, *seed;
} Args;

static int whole_or(const char *name, const char *text, int otherwise, int low) {
    return text ? (int)option_number(name, text, (unsigned long)low, INT_MAX / 2) : otherwise;
}

static float decimal_or(const char *name, const char *text, double otherwise, double low,
                        double high) {
    return (float)(text ? option_decimal(name, text, low, high) : otherwise);
}

int train_config_reads_standard_input(const TrainConfig *r) {
    int count = r->eval_data && strcmp(r->eval_data, "-") == 0;
    for (int i = 0; i < r->data_count; i++)
        count += strcmp(r->data[i], "-") == 0 || strncmp(r->data[i], "-:", 2) == 0;
    return count;
}

/* Of two contradicting options, one would be silently ignored. */
static void check_train_config(const TrainConfig *r, const Args *w) {
    if (!r->out) usage_error("--out DIR is missing");
    if (!r->config == !r->model)
        usage_error("name a --config FILE to begin with random weights, or a --model DIR to begin "
                    "with its own");
    if (!r->data[0]) usage_error("--data FILE is missing");
    if (train_config_reads_standard_input(r) > 1)
        usage_error("-: of all files, one alone can be standard input");
    if (r->loss_after && !*r->loss_after) usage_error("--loss-after needs a text");
    if (w->loss_weight_else && !r->loss_after)
        usage_error("--loss-weight-else %s needs a --loss-after TEXT", w->loss_weight_else);
    if (r->muon_lr > 0 && !(r->lr > 0))
        usage_error("--muon-lr rises and falls as --lr does: that must be above 0");
    if (w->eval_every && !r->eval_data)
        usage_error("--eval-every %s needs a --eval-data FILE", w->eval_every);
    if (r->prompt && !r->sample_every) usage_error("--prompt needs a --sample-every N");
    if (r->min_lr > r->lr) usage_error("--min-lr %g is above the --lr of %g", r->min_lr, r->lr);
    if (r->steps >= 0 && r->warmup > r->steps)
        usage_error("--warmup %d is longer than the %d --steps", r->warmup, r->steps);
}

static void take_words(TrainConfig *r, const Args *w) {
    r->resume = w->resume;
    r->split_documents = w->split_documents;
    r->no_shuffle = w->no_shuffle;
    r->plot = w->plot;
    r->bf16 = w->bf16;
    r->document_mask = w->document_mask;
    r->matmul_bf16 = w->matmul_bf16;
    r->steps = whole_or("steps", w->steps, -1, 1);
    r->warmup = whole_or("warmup", w->warmup, -1, 0);
    r->batch_size = whole_or("batch-size", w->batch_size, 8, 1);
    r->seq_len = whole_or("seq-len", w->seq_len, 0, 2);
    r->threads = w->threads ? (int)option_number("threads", w->threads, 1, 1024) : 0;
    r->save_every = whole_or("save-every", w->save_every, 100, 1);
    r->sample_every = whole_or("sample-every", w->sample_every, 0, 1);
    r->eval_every = r->eval_data ? whole_or("eval-every", w->eval_every, r->save_every, 1) : 0;
    r->lr = decimal_or("lr", w->lr, 0.001, 0, 100);
    r->muon_lr = decimal_or("muon-lr", w->muon_lr, 0, 0, 100);
    r->min_lr = decimal_or("min-lr", w->min_lr, (double)r->lr / 10, 0, 100);
    r->weight_decay = decimal_or("weight-decay", w->weight_decay, 0.1, 0, 100);
    r->eps = decimal_or("eps", w->eps, 1e-8, 1e-30, 1);
    r->beta1 = decimal_or("beta1", w->beta1, 0.9, 0, 0.999999);
    r->beta2 = decimal_or("beta2", w->beta2, 0.95, 0, 0.999999);
    r->max_grad_norm = decimal_or("max-grad-norm", w->max_grad_norm, 1, 0, 1e9);
    r->loss_weight_else = decimal_or("loss-weight-else", w->loss_weight_else, 0, 0, 1000);
    r->seed = w->seed ? option_number("seed", w->seed, 0, UINT32_MAX) : 1;
    while (r->data_count < OPTION_TIMES && r->data[r->data_count]) r->data_count++;
}

TrainConfig train_config_read(int argc, char **argv) {
    TrainConfig r = {0};
    Args w = {0};
    const Option options[] = {
        {"config", "FILE", "a config.json: the model's shape; its weights begin as random numbers",
         &r.config},
        {"model", "DIR",
         "a Hugging Face folder: begin with its weights, shape and tokenizer instead", &r.model},
        {"tokenizer", "DIR", "whose tokenizer it is; without it, that beside config.json",
         &r.tokenizer},
        {"data", "FILE[:weight[:epochs]] …",
         "a text, tokens (.safetensors) or -; its share; how often it is read at most", r.data},
        {"loss-after|learn-after", "TEXT",
         "learn only what follows this in its line, such as \"Answer:\"", &r.loss_after},
        {"loss-weight-else|otherwise", "X",
         "how much every other token counts then, where those count 1 (0)", &w.loss_weight_else},
        {"split-documents|cut", NULL,
         "a document may go on in the next sequence: then none is too long, and no room is left",
         &w.split_documents},
        {"document-mask|apart", NULL,
         "no token sees the documents that stand before its own in the sequence", &w.document_mask},
        {"no-shuffle|in-order", NULL, "the sequences as they stand in their file, and not shuffled",
         &w.no_shuffle},
        {"out", "DIR", "the folder that becomes the model, with checkpoint.safetensors and log.csv",
         &r.out},
        {"resume", NULL,
         "go on from the checkpoint in --out, if there is one: the same bits as without a stop",
         &w.resume},
        {"steps", "N", "steps; without it, until every file is read as often as it says, or once",
         &w.steps},
        {"batch-size|batch", "N", "sequences a step (8)", &w.batch_size},
        {"seq-len|length", "N",
         "tokens of a sequence (512, or the model's context if that is less)", &w.seq_len},
        {"lr|rate", "X", "the highest learning rate (0.001)", &w.lr},
        {"muon-lr|muon", "X",
         "the layers' matrices by Muon, with this as their highest rate (0: by AdamW, too)",
         &w.muon_lr},
        {"warmup", "N", "steps until it is reached (a twentieth of all)", &w.warmup},
        {"min-lr|lowest", "X", "the rate at the end of the cosine (a tenth of --lr)", &w.min_lr},
        {"weight-decay|decay", "X", "weight decay of the matrices (0.1)", &w.weight_decay},
        {"beta1", "X", "AdamW: how much of the mean of the gradients is kept each step (0.9)",
         &w.beta1},
        {"beta2", "X", "the same of the mean of their squares (0.95)", &w.beta2},
        {"eps", "X", "what is added to the root of that (1e-8)", &w.eps},
        {"max-grad-norm|clip", "X",
         "the largest norm of all gradients together; 0 does not clip (1)", &w.max_grad_norm},
        {"seed", "N", "of the first weights and of the order of the data (1)", &w.seed},
        {"eval-data|valid", "FILE", "what the loss is measured on, too, without learning from it",
         &r.eval_data},
        {"eval-every|validate", "N", "every so many steps (as --save-every)", &w.eval_every},
        {"sample-every|sample", "N", "let the model write every so many steps", &w.sample_every},
        {"prompt", "TEXT", "what it goes on with then", &r.prompt},
        {"save-every|save", "N", "a checkpoint, and the model, every so many steps (100)",
         &w.save_every},
        {"save-bf16|bf16", NULL, "the model in BF16, half as large; the checkpoint keeps float32",
         &w.bf16},
        {"matmul-bf16|mixed", NULL,
         "mixed precision: matrices are rounded to BF16 where they are multiplied, and nothing "
         "else is",
         &w.matmul_bf16},
        {"plot", NULL,
         "draw the loss at the end, in the terminal and as loss.svg in --out (gnuplot)", &w.plot},
        {"threads", "N", "how many; another number rounds otherwise (all; one for a tiny model)",
         &w.threads},
    };
    only_options(argc, argv,
                 "--config FILE|--model DIR --data FILE[:weight[:epochs]] … --out DIR [--resume] …",
                 "Trains a Llama by AdamW, or Muon and AdamW, from nothing or on from a model. "
                 "Ctrl-C saves and stops; killed at any moment, too, it goes on with --resume.",
                 sizeof options / sizeof *options, options);
    take_words(&r, &w);
    check_train_config(&r, &w);
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

void train_config_hyperparameters(const TrainConfig *r, RunHyperparameters *in) {
    const struct {
        const char *name;
        double value;
    } all[INGREDIENTS] = {{"steps", r->steps},
                          {"batch-size", r->batch_size},
                          {"seq-len", r->seq_len},
                          {"lr", r->lr},
                          {"warmup", r->warmup},
                          {"min-lr", r->min_lr},
                          {"weight-decay", r->weight_decay},
                          {"beta1", r->beta1},
                          {"beta2", r->beta2},
                          {"eps", r->eps},
                          {"max-grad-norm", r->max_grad_norm},
                          {"seed", (double)r->seed},
                          {"split-documents", r->split_documents},
                          {"muon-lr", r->muon_lr},
                          {"no-shuffle", r->no_shuffle},
                          {"matmul-bf16", r->matmul_bf16},
                          {"document-mask", r->document_mask}};
    for (int i = 0; i < INGREDIENTS; i++) {
        number_text(in->text[i], all[i].value);
        in->each[i] = (Metadata){all[i].name, in->text[i]};
    }
}
