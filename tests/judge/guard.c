/* Linked into a reader's library by `make verify`, where the compiler and the linker can: arrays
 * from its heap (--wrap) end at a forbidden page, and are forbidden once they are freed; an index
 * beyond an array that it declares
 * (-fsanitize=bounds) and what overran its stack (-fstack-protector) are told in words. The sandbox
 * asks for the words by the two llama_guard_ names.
 *
 *     | data's first page … canary | data | up to an alignment of canary | forbidden | */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__real_malloc(size_t bytes);
void __real_free(void *memory);

typedef struct {
    char *pages, *data;
    size_t page_bytes, bytes; /* of all pages but the forbidden one; of the data */
    bool freed;
} Block;

enum { MOST_BLOCKS = 4096 }; /* who asks for more gets the rest as malloc gives it */
static Block blocks[MOST_BLOCKS];
static int block_count;
static char trouble[256];

static volatile int taken; /* threads allocate, too */
static void lock(void) {
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE)) {
    }
}
static void unlock(void) { __atomic_store_n(&taken, 0, __ATOMIC_RELEASE); }

/* As floats, NaNs that the workbench knows: whoever reads them shows it. */
static const uint16_t canary = 0x7ff5; /* UNSET of common/check.h */
static void fill(char *from, char *end) {
    for (char *at = from; at < end; at++) *at = ((const char *)&canary)[(uintptr_t)at % 2];
}
static bool alive(const char *from, const char *end) {
    for (const char *at = from; at < end; at++)
        if (*at != ((const char *)&canary)[(uintptr_t)at % 2]) return false;
    return true;
}

static void *allocate_before_a_forbidden_page(size_t alignment, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           whole = (bytes + alignment - 1) / alignment * alignment;
    size_t page_bytes = (whole + page - 1) / page * page + page;
    if (block_count == MOST_BLOCKS || whole < bytes || alignment > page) return NULL;
    char *pages = mmap(NULL, page_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    mprotect(pages, page_bytes, PROT_READ | PROT_WRITE);
    fill(pages, pages + page_bytes);
    lock();
    Block *block = block_count < MOST_BLOCKS ? &blocks[block_count++] : NULL;
    if (block) *block = (Block){pages, pages + page_bytes - whole, page_bytes, bytes, false};
    unlock();
    if (!block) munmap(pages, page_bytes + page);
    return block ? block->data : NULL;
}

static Block *block_at(const void *data) {
    for (int b = block_count - 1; b >= 0; b--)
        if (blocks[b].data == data) return &blocks[b];
    return NULL;
}

static void check(const Block *block) {
    if (!block->freed && !trouble[0] &&
        !alive(block->data + block->bytes, block->pages + block->page_bytes))
        snprintf(trouble, sizeof trouble,
                 "overran: wrote past the end of an array of %zu bytes from the heap",
                 block->bytes);
    if (!block->freed && !trouble[0] && !alive(block->pages, block->data))
        snprintf(trouble, sizeof trouble,
                 "overran: wrote before an array of %zu bytes from the heap", block->bytes);
}

static _Noreturn void give_up(const char *why) {
    snprintf(trouble, sizeof trouble, "%s", why);
    __builtin_trap();
}

void *__wrap_malloc(size_t bytes) {
    void *data = allocate_before_a_forbidden_page(16, bytes);
    return data ? data : __real_malloc(bytes);
}

void __wrap_free(void *data) {
    Block *block = data ? block_at(data) : NULL;
    if (!block) { /* from a library */
        __real_free(data);
        return;
    }
    if (block->freed) give_up("crashed: it frees an array from the heap twice");
    check(block);
    block->freed = true;
    madvise(block->pages, block->page_bytes, MADV_DONTNEED);
    mprotect(block->pages, block->page_bytes, PROT_NONE);
}

void *__wrap_calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *data = __wrap_malloc(bytes);
    return data ? memset(data, 0, bytes) : NULL;
}

void *__wrap_realloc(void *data, size_t bytes) {
    void *__real_realloc(void *memory, size_t bytes);
    const Block *block = data ? block_at(data) : NULL;
    if (data && !block) return __real_realloc(data, bytes);
    void *moved = __wrap_malloc(bytes);
    if (moved && block) {
        memcpy(moved, data, bytes < block->bytes ? bytes : block->bytes);
        __wrap_free(data);
    }
    return moved;
}

int __wrap_posix_memalign(void **data, size_t alignment, size_t bytes) {
    int __real_posix_memalign(void **data, size_t alignment, size_t bytes);
    *data = allocate_before_a_forbidden_page(alignment, bytes);
    return *data ? 0 : __real_posix_memalign(data, alignment, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    void *data;
    int error =
        __wrap_posix_memalign(&data, alignment < sizeof data ? sizeof data : alignment, bytes);
    return error ? (errno = error, NULL) : data;
}

_Noreturn void __stack_chk_fail(void) {
    give_up("overran: wrote past the end of an array on its stack");
}

/* The compiler's data about an index that is beyond its array. Source:
 * compiler-rt/lib/ubsan/ubsan_handlers.h. */
typedef struct {
    uint16_t kind, information;
    char name[]; /* 'float [64]' */
} Type;

typedef struct {
    const char *file;
    uint32_t line, column;
    const Type *array, *index;
} OutOfBounds;

_Noreturn void __ubsan_handle_out_of_bounds(const OutOfBounds *data, intptr_t index) {
    const char *slash = strrchr(data->file, '/');
    snprintf(trouble, sizeof trouble, "went out of bounds: %s, line %u: index %jd of %s",
             slash ? slash + 1 : data->file, (unsigned)data->line, (intmax_t)index,
             data->array->name);
    __builtin_trap();
}

/* The name of the same under -fno-sanitize-recover. */
_Noreturn void __ubsan_handle_out_of_bounds_abort(const OutOfBounds *data, intptr_t index) {
    __ubsan_handle_out_of_bounds(data, index);
}

/* An overrun of an array that the library declares may overwrite `trouble` itself. */
static const char *in_words(void) {
    static const char *const ours[] = {"overran: ", "went out of bounds: ", "crashed: "};
    bool is_ours = false;
    for (int i = 0; i < 3; i++) is_ours |= strncmp(trouble, ours[i], strlen(ours[i])) == 0;
    return is_ours ? trouble : "overran: wrote past the end of a static array of its own";
}

/* Describes damage to the heap or the stack; NULL if there is none. */
const char *llama_guard_trouble(void) {
    for (int b = 0; b < block_count; b++) check(&blocks[b]);
    return trouble[0] ? in_words() : NULL;
}

/* How many bytes of its heap are in use. */
size_t llama_guard_held(void) {
    size_t bytes = 0;
    for (int b = 0; b < block_count; b++) bytes += blocks[b].freed ? 0 : blocks[b].bytes;
    return bytes;
}

/* Why this address may not be touched; NULL if it is none of the heap's. */
const char *llama_guard_explains(const void *address) {
    const char *at = address;
    if (trouble[0]) return in_words();
    for (int b = 0; b < block_count; b++) {
        const Block *block = &blocks[b];
        size_t all = block->page_bytes + (size_t)sysconf(_SC_PAGESIZE);
        if (at < block->pages || at >= block->pages + all) continue;
        if (block->freed)
            snprintf(trouble, sizeof trouble,
                     "went out of bounds: it uses an array from the heap after free");
        else
            snprintf(
                trouble, sizeof trouble,
                "went out of bounds: %td bytes past the end of an array of %zu bytes from the heap",
                at - block->data - (ptrdiff_t)block->bytes, block->bytes);
        return trouble;
    }
    return NULL;
}
