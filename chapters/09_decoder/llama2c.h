/* Chapter 9: llama2.c's first format (.bin).
 *
 * Seven int32: dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size (negative: lm_head is not tied), seq_len.
 * Then float32: token_embedding, rms_att [L], wq [L], wk [L], wv [L], wo [L], rms_ffn [L], w1 [L], w2 [L], w3 [L],
 * rms_final, freq_cis_real and freq_cis_imag [seq_len][D/2] of old, and wcls unless tied.
 * Source: memory_map_weights in run.c of llama2.c. */
#ifndef LLAMA2C_H
#define LLAMA2C_H

#include "09_decoder/model.h"

/* What the weights lie in. */
typedef struct {
    void *mapping;
    size_t size;
} Llama2c;

/* Fills in the model, all but its files, or fail(). */
Llama2c llama2c_open(Model *model, const char *path);
void llama2c_close(Llama2c *bin);

#endif
