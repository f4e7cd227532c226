/* Chapter 9, your turn: the decoder.
 *
 *     make exercise-09
 *
 * All operations are there. Put them together: four functions, which decoder_eval() calls and
 * decoder.h describes. Each is compared with PyTorch, on small models and on the course's own,
 * stage by stage of its sentence. The judge names the stage, the token and the number at which your
 * residual stream first differs, and the mistake if it is known. Then `make mine` tells a story
 * with your decoder.
 *
 * What you need:
 *
 *     d->model->config      C, H, KV, D, F, L and rms_norm_eps
 *     d->model->layers[l]   the weights of layer l, by their names in the checkpoint;
 *                           a bias is NULL where the model has none
 *     d->kernels            the table of operations, kernels.h; with `make mine` it holds
 *                           those that you have written in earlier chapters:
 *
 *         rms_norm(T, C, out, x, weight, eps)
 *         swiglu(n, out, gate, up)
 *         rope_half_split(T, H, D, out, x, cosine, sine)    out must not be x
 *         kv_cache_append(...), and then flash_attention(...)
 *         linear_tensor(T, in, out, y, x, &weight)          y = x weight^T, without the bias
 *
 *     float(*q)[H][D] = decoder_alloc(d, sizeof(float[T][H][D]));
 *                           working memory, until you set d->arena_used back
 *
 * To linear_tensor, H heads of D numbers are one vector of H D numbers: pass (float(*)[H * D])q.
 * Keep the names of the parameters: decoder.h uses them in the types of arrays. The (void) lines
 * only prevent warnings about an empty body; delete them when you begin. */
#include "09_decoder/decoder.h"

/* Task 1. delta = feed_forward(rms_norm(x)): the norm, three matrix products, and one operation
 * between them. Which of the two norms of the layer is it? Do not change x: decoder_forward() adds
 * delta to it. */
void feed_forward_block(Decoder *d, int l, int T, int C, float delta[restrict T][C],
                        const float x[T][C]) {
    size_t mark = d->arena_used;
    (void)l, (void)T, (void)C, (void)delta, (void)x;
    d->arena_used = mark;
}

/* Task 2. delta = attention(rms_norm(x)): queries, keys and values; RoPE on two of them; the new
 * keys and values into the cache of layer l, from position d->length on; attention over all
 * positions in the cache; and a last matrix product. The first lines give the cache and the cosines
 * and sines their shapes. */
void attention_block(Decoder *d, int l, int T, int C, float delta[restrict T][C],
                     const float x[T][C]) {
    int KV = d->model->config.KV, D = d->model->config.D;
    float (*keys)[d->capacity][KV][D] = (void *)d->keys,
          (*values)[d->capacity][KV][D] = (void *)d->values;
    const float(*angles)[T][D / 2] = (void *)d->cos_sin, (*cosine)[D / 2] = angles[COSINES],
                                (*sine)[D / 2] = angles[SINES];
    size_t mark = d->arena_used;
    (void)l, (void)C, (void)delta, (void)x, (void)keys, (void)values, (void)cosine, (void)sine;
    d->arena_used = mark;
}

/* Task 3. The logits of the V tokens, from the last hidden state, decoder->last_hidden, which is
 * normalized already. Which matrix is it, where the embedding is not tied? */
void decoder_logits(const Decoder *decoder, float logits[decoder->model->config.V]) {
    (void)decoder, (void)logits;
}

/* The challenge, without a hint: all T tokens from the rows of embed_tokens through both blocks of
 * each layer and through the last norm. tensor_get(&table, i) reads number i of a table, row after
 * row. Call call_stage_hook(d, stage, T, C, x) at each stage, as decoder.h counts them, so that the
 * judge can tell you where your residual stream first differs. */
void decoder_forward(Decoder *d, int T, int C, float out[restrict T][C], const int ids[T]) {
    size_t mark = d->arena_used;
    (void)T, (void)C, (void)out, (void)ids;
    d->arena_used = mark;
}
