/* For targets of code that ends in fail(): its exit() comes back to the target (compile with -Dexit=caught_exit), and
 * what it said is held to the promise of common/error.h. Memory that is lost on the way is no finding. */
#ifndef TESTS_FUZZ_CAUGHT_H
#define TESTS_FUZZ_CAUGHT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf back;
static bool waiting;

_Noreturn void caught_exit(int status) {
    if (!waiting) _Exit(status);
    longjmp(back, status == 0 ? -1 : status);
}

static void promise(bool kept, const char *what, const char *said) {
    if (kept) return;
    fprintf(stderr, "broken promise: %s: %s\n", what, said);
    abort();
}

/* Does it; where it fails, then with status 1 and with one line. */
static void attempt(void (*action)(void)) {
    static FILE *terminal;
    static char *said;
    static size_t size;
    terminal = stderr, stderr = open_memstream(&said, &size);
    waiting = true;
    int status = setjmp(back);
    if (status == 0) action();
    waiting = false;
    fclose(stderr), stderr = terminal;
    if (status != 0) {
        promise(status == 1, "a failure has status 1", said);
        promise(strncmp(said, "error: ", 7) == 0, "it says that it is an error", said);
        promise(strchr(said, '\n') == said + size - 1, "it is one line", said);
    }
    free(said);
}

#endif
