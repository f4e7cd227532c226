#include "17_training/sample.h"
#include "11_generation/generation.h"
#include "12_speed/fast_kernels.h"
#include "14_engine/generation_config.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

static Tensor matrix(int rows, int columns, const float *numbers) {
    return (Tensor){
        .dtype = F32, .rank = 2, .shape = {(size_t)rows, (size_t)columns}, .data = numbers};
}

static Layer layer_of(const Config *c, const LayerParameters *w) {
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D;
    return (Layer){.q_proj = matrix(queries, C, w->q_proj),
                   .k_proj = matrix(keys, C, w->k_proj),
                   .v_proj = matrix(keys, C, w->v_proj),
                   .o_proj = matrix(C, queries, w->o_proj),
                   .gate_proj = matrix(F, C, w->gate_proj),
                   .up_proj = matrix(F, C, w->up_proj),
                   .down_proj = matrix(C, F, w->down_proj),
                   .q_bias = w->q_bias,
                   .k_bias = w->k_bias,
                   .v_bias = w->v_bias,
                   .o_bias = w->o_bias,
                   .gate_bias = w->gate_bias,
                   .up_bias = w->up_bias,
                   .down_bias = w->down_bias,
                   .input_layernorm = w->input_layernorm,
                   .post_attention_layernorm = w->post_attention_layernorm};
}

/* The weights as chapter 9's decoder wants them, where they lie. */
static Model model_of(const Parameters *w) {
    const Config *c = &w->config;
    Model model = {.config = *c,
                   .interleaved = w->interleaved,
                   .embed_tokens = matrix(c->V, c->C, w->embed_tokens),
                   .lm_head = matrix(c->V, c->C, w->lm_head),
                   .norm = w->norm,
                   .layers = xmalloc((size_t)c->L * sizeof(Layer))};
    for (int l = 0; l < c->L; l++) model.layers[l] = layer_of(c, &w->layers[l]);
    return model;
}

int *prompt_ids(const Config *config, const Tokenizer *tokenizer, const char *prompt, int *count) {
    size_t tokens;
    int context = config_context(config),
        *ids = encode_with_bos(tokenizer, strlen(prompt), prompt, &tokens);
    if (tokens == 0) fail("a text of this tokenizer has no token to begin with: give a --prompt");
    if (tokens > (size_t)context)
        fail("--prompt: its %zu tokens do not fit the context of %d", tokens, context);
    *count = (int)tokens;
    return ids;
}

void write_sample(const Parameters *weights, const Tokenizer *tokenizer, const char *prompt,
                  int most, unsigned long seed) {
    Model model = model_of(weights);
    int count, *ids = prompt_ids(&model.config, tokenizer, prompt, &count),
               capacity = config_context(&model.config);
    if (capacity - count > most) capacity = count + most;
    add_chatml_end(&model.config, tokenizer);
    SamplingParams sampling = {.temperature = 1, .top_p = 1, .repetition_penalty = 1};
    Generation g = generation_new(&model, &fast_kernels, capacity, sampling, seed);
    Stream stream = {.file = stdout, .skip_space = !tokenizer_byte_level(tokenizer) && !*prompt};
    printf("    %s", prompt);
    prefill(&g, count, ids);
    generate(&g, tokenizer, &stream, most);
    stream_end(&stream);
    putchar('\n');
    fflush(stdout);
    generation_free(&g);
    free(ids);
    free(model.layers);
}
