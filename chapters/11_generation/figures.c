/* Writes the data of this chapter's figures: the tokens that may follow the first line of the
 * sentence. */
#include "11_generation/generation.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = ROOT "/common/stories/model";

/* The next token's logits after a text. */
static void read_logits(const Model *model, const Tokenizer *tokenizer, size_t length,
                        const char text[length], float logits[model->config.V]) {
    size_t count;
    int *ids = encode_with_bos(tokenizer, length, text, &count);
    Decoder decoder = decoder_new(model, &reference_kernels, (int)count);
    decoder_eval(&decoder, (int)count, ids);
    decoder_logits(&decoder, logits);
    decoder_free(&decoder);
    free(ids);
}

/* The tokens by their logits, the largest first: that order is the same at every temperature. */
static void rank(int V, const float logits[V], int shown, int tokens[shown]) {
    float rest[V];
    memcpy(rest, logits, sizeof rest);
    for (int i = 0; i < shown; i++) {
        tokens[i] = argmax(V, rest);
        rest[tokens[i]] = -INFINITY;
    }
}

static void write_chances(const char *data, const Tokenizer *tokenizer, int V,
                          const float logits[V]) {
    enum { SHOWN = 40, TEMPERATURES = 3 };
    static const float Ts[TEMPERATURES] = {0.5f, 1, 2};
    int tokens[SHOWN];
    float hot[V];
    double sum[TEMPERATURES] = {0}, up_to_here[TEMPERATURES] = {0};
    rank(V, logits, SHOWN, tokens);
    for (int k = 0; k < TEMPERATURES; k++) {
        temperature(V, hot, logits, Ts[k]);
        for (int v = 0; v < V; v++) sum[k] += exp(hot[v]);
    }
    Output output = data_open(data, "11_next",
                              "rank; at temperature 0.5, 1, 2: probability, sum up to here; token");
    for (int i = 0; i < SHOWN; i++) {
        fprintf(output.file, "%d", i + 1);
        for (int k = 0; k < TEMPERATURES; k++) {
            double p = exp((double)logits[tokens[i]] / Ts[k]) / sum[k];
            up_to_here[k] += p;
            fprintf(output.file, " %.6g %.6g", p, up_to_here[k]);
        }
        size_t length;
        const char *bytes = tokenizer_bytes(tokenizer, tokens[i], &length);
        if (length == 1 && *bytes == '\n') {
            bytes = "line-end";
            length = 8;
        } /* a line of the file is a token's */
        fprintf(output.file, " %.*s\n", (int)length, bytes);
    }
    output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 11 draw.");
    if (!data) return 0;
    Sentence sentence = sentence_open();
    Model model = model_open(folder);
    Tokenizer *tokenizer = tokenizer_open(folder);
    const char *story = safetensors_metadata(&sentence.file, "story");
    float logits[model.config.V];
    read_logits(&model, tokenizer, strcspn(story, "\n"), story, logits);
    write_chances(data, tokenizer, model.config.V, logits);
    tokenizer_close(tokenizer);
    model_close(&model);
    sentence_close(&sentence);
    return 0;
}
