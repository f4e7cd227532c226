/* For the tests of what a kernel refuses: it must end the program with status 1 and one line on
 * stderr. */
#ifndef TESTS_REFUSED_H
#define TESTS_REFUSED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Does it in a process of its own; the line must be an error, and say these words. */
static inline void assert_refused(void (*action)(void), const char *words) {
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        action();
        _exit(0);
    }
    close(ends[1]);
    char message[1000] = "";
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], message + length, 999 - length)) > 0;)
        length += (size_t)got;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
        fail_msg("status %x, and \"%s\"", status, message);
    if (strncmp(message, "error: ", 7) != 0 || !strstr(message, words))
        fail_msg("\"%s\", not \"%s\"", message, words);
    assert_ptr_equal(strchr(message, '\n'), message + length - 1);
}

#endif
