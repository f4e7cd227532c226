/* Linked into a reader's library, where the linker can (--wrap). A function of the reader's calls the kernels of its
 * own file, and for others ours, which are in the library as well. `make mine` has several files: what another one of
 * them defines is asked for here, so that the reader's blocks are made of the reader's kernels. The Makefile names what
 * comes by (ROUTED). */
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "05_rope/rope.h"
#include "06_grouped_query/grouped_query.h"
#include "07_kv_cache/kv_cache.h"
#include "08_flash_attention/flash_attention.h"
#include "09_decoder/decoder.h"
#include "common/linear.h"
#include "tests/judge/sandbox.h"

static Function (*ask)(const char *kernel); /* NULL: there is nobody to ask */

/* From now on `whom` is asked for the reader's kernel of a name. NULL: it is ours. */
void llama_route(Function whom(const char *kernel)) { ask = whom; }

#define ROUTE(type, kernel, arguments, ...)                                             \
    __typeof__(kernel) __real_##kernel;                                                 \
    type __wrap_##kernel(__VA_ARGS__) {                                                 \
        __typeof__(kernel) *yours = (__typeof__(kernel) *)(ask ? ask(#kernel) : NULL);  \
        return (yours ? yours : __real_##kernel) arguments;                             \
    }

ROUTE(void, rms_norm, (rows, dim, out, x, weight, bias, eps), int rows, int dim, float out[restrict rows][dim],
      const float x[rows][dim], const float weight[dim], const float *bias, float eps)
ROUTE(void, linear, (rows, in, out, y, x, weight, bias), int rows, int in, int out, float y[restrict rows][out],
      const float x[rows][in], const float weight[out][in], const float *bias)
ROUTE(void, swiglu, (n, out, gate, up), int n, float out[n], const float gate[n], const float up[n])
ROUTE(void, rope_half_split, (T, H, D, out, x, cosine, sine), int T, int H, int D, float out[restrict T][H][D],
      const float x[T][H][D], const float cosine[T][D / 2], const float sine[T][D / 2])
ROUTE(int, kv_cache_append, (capacity, KV, D, cache_k, cache_v, length, T, k, v), int capacity, int KV, int D,
      float cache_k[capacity][KV][D], float cache_v[capacity][KV][D], int length, int T, const float k[T][KV][D],
      const float v[T][KV][D])
ROUTE(void, cached_attention, (capacity, length, T, H, KV, D, out, cache_k, cache_v, q, k, v), int capacity, int length,
      int T, int H, int KV, int D, float out[restrict T][H][D], float cache_k[capacity][KV][D],
      float cache_v[capacity][KV][D], const float q[T][H][D], const float k[T][KV][D], const float v[T][KV][D])
ROUTE(void, attend_last, (T, S, H, KV, D, out, q, k, v), int T, int S, int H, int KV, int D,
      float out[restrict T][H][D], const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D])
ROUTE(void, flash_attention, (T, S, H, KV, D, out, q, k, v), int T, int S, int H, int KV, int D,
      float out[restrict T][H][D], const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D])
ROUTE(void, attention_block, (d, l, T, C, delta, x), Decoder *d, int l, int T, int C, float delta[restrict T][C],
      const float x[T][C])
ROUTE(void, feed_forward_block, (d, l, T, C, delta, x), Decoder *d, int l, int T, int C, float delta[restrict T][C],
      const float x[T][C])
