/* Chapter 12: LANES numbers side by side, in the compiler's own terms: the same source is AVX-512, AVX2 or NEON.
 * The vectors may lie at any address, in memory of any type. */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdint.h>

/* SHUFFLE_…: what shuffling cards does to two vectors: their first halves, one by one in turn; and their second halves. */
#ifdef __AVX512F__
enum { LANES = 16 };
#define SHUFFLE_FIRST(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define SHUFFLE_SECOND(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif defined __AVX__
enum { LANES = 8 };
#define SHUFFLE_FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define SHUFFLE_SECOND(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else /* NEON, SSE */
enum { LANES = 4 };
#define SHUFFLE_FIRST(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define SHUFFLE_SECOND(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

#if defined __AVX512F__ || defined __aarch64__
enum { REGISTERS = 32 };
#else
enum { REGISTERS = 16 };
#endif

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(1), may_alias));
typedef uint32_t Words __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(1), may_alias));
typedef uint16_t Halves __attribute__((vector_size(LANES * sizeof(uint16_t)), aligned(1), may_alias));

#define INLINE static inline __attribute__((always_inline)) /* so that a constant argument is one inside, too */

#endif
