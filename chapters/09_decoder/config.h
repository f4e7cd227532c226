/* Chapter 9: what a Llama is, in fifteen numbers: config.json.
 *
 * Whatever this decoder does not compute is refused by name, never guessed: another architecture,
 * another activation, another scaling of RoPE. Every size is checked here, before anything is
 * multiplied or allocated. */
#ifndef CONFIG_H
#define CONFIG_H

#include "05_rope/rope.h"
#include "common/tensor.h"

enum {
    CONFIG_EOS = 16,
    /* Sizes beyond these are lies: within them, a count of a model's weights is far from
       overflowing 64 bits. */
    MOST_WIDTH = 1 << 22,
    MOST_LAYERS = 1 << 10,
    MOST_HEAD = 1 << 12,
    MOST_POSITIONS = 1 << 30,
};

typedef struct {
    int C;                       /* hidden_size: the model width */
    int F;                       /* intermediate_size: the feed-forward width */
    int L;                       /* num_hidden_layers */
    int H, KV, D;                /* num_attention_heads, num_key_value_heads, head_dim */
    int V;                       /* vocab_size */
    int max_position_embeddings; /* positions that the model was made for */
    int sliding_window;          /* a token sees so many, itself the last; 0: all */
    double rms_norm_eps;
    bool tie_word_embeddings;      /* lm_head is embed_tokens */
    bool attention_bias, mlp_bias; /* the projections add one: in none of Meta's Llamas */
    RopeParameters rope;
    int pad;                        /* pad_token_id, or -1 */
    int eos_count, eos[CONFIG_EOS]; /* eos_token_id: any of them ends a text */
    DType dtype;                    /* of the weights, as config.json says: the files decide */
} Config;

/* A JSON file's value, as jansson has it, or fail(). */
struct json_t *json_open(const char *path);
struct json_t *json_open_reals(const char *path); /* as json_read_reals() does */

/* Reads a config.json, or fail(). What it leaves out is what LlamaConfig of transformers takes for
 * it; the sizes it must give. */
Config config_read(const char *path);
void config_free(Config *config); /* longrope's factors */

/* The ends, eos_token_id, that the JSON of another file says, if it says any:
 * generation_config.json. */
void config_read_ends(const char *path, const struct json_t *json, Config *config);

/* Checks the heads, wherever a model's sizes come from: sets D where it is still 0, and fail()s
 * unless C, H, KV and D fit together. `path` is for messages. */
void config_complete_heads(const char *path, Config *config);

/* The largest context: max_position_embeddings, or `factor` times that with dynamic scaling,
 * which stretches as the text grows; but no more than the sliding_window, because beyond it
 * attention is not a Llama's. */
int config_context(const Config *config);
const char *config_limit(const Config *config); /* why no more, in words */

/* Weights, norms included; a tied lm_head is counted once. */
int64_t config_parameters(const Config *config);

#endif
