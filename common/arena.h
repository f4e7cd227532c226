/* An arena: memory for many arrays that are released together. */
#ifndef COMMON_ARENA_H
#define COMMON_ARENA_H

#include <stddef.h>

typedef struct {
    struct ArenaBlock *block; /* the newest one; it knows the one before it */
    size_t used;              /* bytes of the newest block */
} Arena;                      /* {0} is an empty arena */

/* An arena whose first block has so many bytes. An arena that is full gets a further block. */
Arena arena_new(size_t capacity);

/* An array of so many bytes, aligned to 64: a cache line and the widest vector. Never NULL; out of
 * memory is a fail(). */
void *arena_alloc(Arena *arena, size_t bytes);
void *arena_alloc_zeros(Arena *arena, size_t bytes);

/* Releases everything that was allocated after a mark:
 *
 *     Arena mark = arena_mark(&arena);
 *     float(*q)[H][D] = arena_alloc(&arena, sizeof(float[T][H][D]));
 *     …
 *     arena_reset(&arena, mark); */
static inline Arena arena_mark(const Arena *arena) { return *arena; }
void arena_reset(Arena *arena, Arena mark);

void arena_free(Arena *arena); /* releases everything; the arena is empty afterwards */

#endif
