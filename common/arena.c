#include "common/arena.h"
#include "common/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, SMALLEST_BLOCK = 1 << 16 };

typedef struct ArenaBlock {
    struct ArenaBlock *previous;
    size_t size; /* bytes of memory */
    _Alignas(LINE) char memory[];
} ArenaBlock;

static ArenaBlock *block_new(ArenaBlock *previous, size_t size) {
    size_t bytes;
    if (__builtin_add_overflow(sizeof(ArenaBlock), size, &bytes)) bytes = size;
    ArenaBlock *block = xmalloc(bytes);
    block->previous = previous;
    block->size = size;
    return block;
}

Arena arena_new(size_t capacity) { return (Arena){.block = block_new(NULL, capacity)}; }

void *arena_alloc(Arena *arena, size_t bytes) {
    /* Whole lines keep the next array aligned. After an overflow, xmalloc() refuses `bytes`. */
    size_t lines;
    if (__builtin_add_overflow(bytes, (LINE - bytes % LINE) % LINE, &lines)) lines = bytes;
    if (!arena->block || lines > arena->block->size - arena->used) {
        arena->block = block_new(arena->block, lines > SMALLEST_BLOCK ? lines : SMALLEST_BLOCK);
        arena->used = 0;
    }
    char *memory = arena->block->memory + arena->used;
    arena->used += lines;
    return memory;
}

void *arena_alloc_zeros(Arena *arena, size_t bytes) {
    return memset(arena_alloc(arena, bytes), 0, bytes);
}

void arena_reset(Arena *arena, Arena mark) {
    while (arena->block != mark.block) {
        ArenaBlock *block = arena->block;
        assert(block && "the mark is of this arena, and of now or earlier");
        arena->block = block->previous;
        free(block);
    }
    assert(!arena->block || mark.used <= arena->block->size);
    arena->used = mark.used;
}

void arena_free(Arena *arena) { arena_reset(arena, (Arena){0}); }
