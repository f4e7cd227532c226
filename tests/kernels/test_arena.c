/* The arena: arrays that do not overlap, are aligned, survive growth, and are released together. */
#include "common/arena.h"
#include "tests/refused.h"

#include <stdlib.h>

static void arrays_are_aligned_and_apart(void **state) {
    (void)state;
    enum { ARRAYS = 200 };
    static const size_t sizes[] = {1, 63, 64, 65, 0, 1000, 1 << 16, (1 << 16) + 1, 200000};
    Arena arena = {0};
    char *arrays[ARRAYS];
    for (size_t i = 0; i < ARRAYS; i++) {
        size_t size = sizes[i % (sizeof sizes / sizeof *sizes)];
        arrays[i] = arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)arrays[i] % 64, 0);
        memset(arrays[i], (int)i, size);
    }
    for (size_t i = 0; i < ARRAYS; i++)
        for (size_t b = 0; b < sizes[i % (sizeof sizes / sizeof *sizes)]; b++)
            if ((unsigned char)arrays[i][b] != i)
                fail_msg("byte %zu of array %zu was overwritten", b, i);
    arena_free(&arena);
    assert_null(arena.block);
}

static void memory_after_a_mark_is_used_again(void **state) {
    (void)state;
    Arena arena = arena_new(1000);
    char *kept = arena_alloc(&arena, 10);
    strcpy(kept, "kept");
    Arena mark = arena_mark(&arena);
    char *first = arena_alloc(&arena, 100);
    for (int i = 0; i < 10; i++) arena_alloc(&arena, 1 << 20); /* further blocks */
    arena_reset(&arena, mark);
    assert_ptr_equal(arena_alloc(&arena, 100), first);
    assert_string_equal(kept, "kept");
    arena_free(&arena);

    mark = arena_mark(&arena); /* of an empty arena */
    arena_alloc(&arena, 1);
    arena_reset(&arena, mark);
    assert_null(arena.block);
}

static void a_capacity_is_one_block(void **state) {
    (void)state;
    Arena arena = arena_new(4 * 64);
    const struct ArenaBlock *block = arena.block;
    for (int i = 0; i < 4; i++) arena_alloc(&arena, 64);
    assert_ptr_equal(arena.block, block);
    arena_alloc(&arena, 1);
    assert_ptr_not_equal(arena.block, block);
    arena_free(&arena);
}

static void zeros_are_zeros(void **state) {
    (void)state;
    Arena arena = arena_new(64);
    Arena mark = arena_mark(&arena);
    memset(arena_alloc(&arena, 64), 0xff, 64);
    arena_reset(&arena, mark);
    const char *zeros = arena_alloc_zeros(&arena, 64);
    for (int i = 0; i < 64; i++) assert_int_equal(zeros[i], 0);
    arena_free(&arena);
}

static void ask_for_more_than_there_is(void) {
    Arena arena = {0};
    arena_alloc(&arena, PTRDIFF_MAX / 64 * 64);
}

static void ask_for_more_than_addresses(void) {
    Arena arena = arena_new(64);
    arena_alloc(&arena, SIZE_MAX);
}

static void too_much_is_refused(void **state) {
    (void)state;
    assert_refused(ask_for_more_than_there_is, "out of memory");
    assert_refused(ask_for_more_than_addresses, "out of memory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_aligned_and_apart),
        cmocka_unit_test(memory_after_a_mark_is_used_again),
        cmocka_unit_test(a_capacity_is_one_block),
        cmocka_unit_test(zeros_are_zeros),
        cmocka_unit_test(too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
