/* Preloaded by faults.c: counts the allocations of a program and fails the n-th, or all from the
 * n-th on. A program that allocates ten thousand times does so at few places: those are told apart
 * by what is on the stack. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/hardening/faults/allocations.h"

static Allocations *allocations;
static pid_t program;

/* The program's forked children share the counter; a program that it starts has none. */
static void find_counter(void) {
    const char *path = getenv("FAULTS");
    int file = path ? open(path, O_RDWR) : -1;
    void *memory = mmap(NULL, sizeof *allocations, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    unsetenv("LD_PRELOAD");
    if (memory != MAP_FAILED) {
        allocations = memory;
        program = getpid();
    }
}

/* Notes the place of this allocation, if it is new. */
static void look(long n) {
    enum { DEPTH = 64 };
    static uint64_t seen[2 * MOST_PLACES];
    void *stack[DEPTH];
    uint64_t hash = 0xcbf29ce484222325;
    int depth = backtrace(stack, DEPTH);
    for (int i = 0; i < depth; i++) hash = (hash ^ (uintptr_t)stack[i]) * 0x100000001b3;
    size_t place = hash % (2 * MOST_PLACES);
    while (seen[place] && seen[place] != hash) place = (place + 1) % (2 * MOST_PLACES);
    if (seen[place] || allocations->places == MOST_PLACES) return;
    seen[place] = hash;
    allocations->at[allocations->places++] = n;
}

static bool fails(void) {
    static _Thread_local bool looking; /* which may allocate, too */
    if (!allocations || !allocations->running || looking ||
        (allocations->alone && getpid() != program))
        return false;
    long n = ++allocations->count;
    if (allocations->looks) {
        looking = true;
        look(n);
        looking = false;
    }
    bool fails = n == allocations->fail_at || (allocations->lasting && n > allocations->fail_at);
    if (fails) errno = ENOMEM;
    return fails;
}

/* The function of that name that would have been called without us. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *malloc(size_t size) { return fails() ? NULL : NEXT(malloc)(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : NEXT(calloc)(count, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : NEXT(realloc)(memory, size); }
void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : NEXT(aligned_alloc)(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
    return fails() ? ENOMEM : NEXT(posix_memalign)(memory, alignment, size);
}

/* What is counted and fails begins with main, and ends with the last that the program itself has to
 * do at exit. */
static int (*program_main)(int, char **, char **);

static void stop_running(void) { allocations->running = false; }

static int counted_main(int argc, char **argv, char **environment) {
    find_counter();
    if (allocations && atexit(stop_running) == 0) {
        allocations->sanitized = dlsym(RTLD_DEFAULT, "__asan_init");
        allocations->running = true;
    }
    return program_main(argc, argv, environment);
}

int __libc_start_main(int main(int, char **, char **), int argc, char **argv, void init(void),
                      void fini(void), void linker_fini(void), void *stack) {
    __typeof__(&__libc_start_main) next = (__typeof__(next))dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = main;
    return next(counted_main, argc, argv, init, fini, linker_fini, stack);
}

/* At every look a fifth of a second has passed: what measures itself is done soon, and always
 * prints the same. */
int clock_gettime(clockid_t, struct timespec *time) {
    static long looks;
    looks++;
    *time = (struct timespec){looks / 5, looks % 5 * 200000000};
    return 0;
}
