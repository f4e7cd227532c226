/* For targets of code that ends in fail(): its exit() comes back to the target, and what it said is
 * held to the promise of common/error.h, which is compiled anew here for that. Memory that is lost
 * on the way is no finding. */
#ifndef TESTS_FUZZ_CAUGHT_H
#define TESTS_FUZZ_CAUGHT_H

#include "tests/hardening/fuzz/fuzz.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static jmp_buf back;
static bool waiting;
static FILE *caught_stderr;

static _Noreturn void caught_exit(int status) {
    if (!waiting) _Exit(status);
    longjmp(back, status == 0 ? -1 : status);
}

static FILE *where_it_says(void) { return waiting ? caught_stderr : stderr; }

#undef stderr
#define stderr where_it_says()
#define exit caught_exit
#include "common/error.c"
#undef stderr
#undef exit

/* Does it; where it fails, then with status 1 and with one line. */
static void attempt(void (*action)(void)) {
    static char *line;
    static size_t size;
    caught_stderr = open_memstream(&line, &size);
    waiting = true;
    int status = setjmp(back);
    if (status == 0) action();
    waiting = false;
    fclose(caught_stderr);
    if (status != 0) {
        promise(status == 1, "a failure has status 1", line);
        promise(strncmp(line, "error: ", 7) == 0, "it says that it is an error", line);
        promise(strchr(line, '\n') == line + size - 1, "it is one line", line);
    }
    free(line);
}

#endif
