/* Chapter 9, your turn: the decoder.
 *
 *     make exercise-09
 *
 * All kernels are there. Put them together: four functions, which decoder_eval() calls, and which
 * decoder.h explains. Each is judged against PyTorch, on small models and on the course's own,
 * stage by stage of its sentence; where the stream first differs is named, and the mistake if it is
 * known. Then `make mine` tells a story with your decoder.
 *
 * What you need:
 *     d->model->config                   C, H, KV, D, F, L and rms_norm_eps
 *     d->model->layers[l]                the weights of layer l, by their names in the checkpoint
 *     d->kernels->rms_norm(T, C, out, x, weight, eps)         the table of kernels,
 * kernels.h: in `make mine` it holds those that you wrote swiglu(n, out, gate, up) from the same
 * table, as all of the following rope_half_split(T, H, D, out, x, cosine, sine)                out
 * must not be x kv_cache_append(...), then flash_attention(...) project(T, in, out, y, x, &weight)
 * y = x weight^T; [T][H][D] is [T][H * D] to it: project(T, C, H * D, (float(*)[H * D])q, ...)
 *     float(*q)[H][D] = take(d, sizeof(float[T][H][D]));            room to work in, until you set
 * d->taken back
 *
 * The (void) lines only keep an empty body from warning; they go when you begin. */
#include "09_decoder/decoder.h"

/* Task 1. delta = feed_forward(rms_norm(x)): the norm, three products, and one function between
 * them. Which of the layer's two norms is it? x is not yours to change: the loop adds delta to it.
 */
void feed_forward_block(Decoder *d, int l, int T, int C, float delta[restrict T][C],
                        const float x[T][C]) {
    size_t mark = d->arena_used;
    (void)l, (void)T, (void)C, (void)delta, (void)x;
    d->arena_used = mark;
}

/* Task 2. delta = attention(rms_norm(x)): queries, keys and values; RoPE on two of them; into the
 * cache of layer l, from row d->length on; attention over all that is there; and a last product.
 * The lines below say how the arrays lie. */
void attention_block(Decoder *d, int l, int T, int C, float delta[restrict T][C],
                     const float x[T][C]) {
    int KV = d->model->config.KV, D = d->model->config.D;
    float(*keys)[d->capacity][KV][D] = (void *)d->keys,
    (*values)[d->capacity][KV][D] = (void *)d->values;
    const float(*angles)[T][D / 2] = (void *)d->cos_sin, (*cosine)[D / 2] = angles[0],
                                (*sine)[D / 2] = angles[1];
    size_t mark = d->arena_used;
    (void)l, (void)C, (void)delta, (void)x, (void)keys, (void)values, (void)cosine, (void)sine;
    d->arena_used = mark;
}

/* Task 3. A score for each of the V tokens: the last position, d->last, is normalized already.
 * Which matrix is it, where the embedding is not tied? */
void decoder_logits(const Decoder *decoder, float logits[decoder->model->config.V]) {
    (void)decoder, (void)logits;
}

/* The challenge, without a hint: the whole way of T tokens, from the rows of embed_tokens
 * (tensor_get(&table, i) reads number i, row after row) through both blocks of each layer and the
 * last norm. Show the stream at each of its stages, as decoder.h counts them: call_stage_hook(d,
 * stage, T, C, x). That is how a judge can tell you where it first differs. */
void decoder_forward(Decoder *d, int T, int C, float out[restrict T][C], const int ids[T]) {
    size_t mark = d->arena_used;
    (void)T, (void)C, (void)out, (void)ids;
    d->arena_used = mark;
}
