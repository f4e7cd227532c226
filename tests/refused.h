/* For the tests of what ends a program: a refusal is status 1 and one line on stderr. */
#ifndef TESTS_REFUSED_H
#define TESTS_REFUSED_H

#include "tests/test.h"

#include <signal.h>

/* Does it in a process of its own, whose output on this stream is in the message. Returns waitpid's
 * status. */
static inline int run_in_child(void (*action)(void), int stream, char message[static 2000]) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], stream);
        close(ends[0]);
        close(ends[1]);
        for (int i = 0; i < 5; i++) /* cmocka's handlers would go on with the next test in it */
            signal(crashes[i], SIG_DFL);
        action();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], message + length, 1999 - length)) > 0;)
        length += (size_t)got;
    message[length] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return status;
}

/* It must be refused with one line, which says these words. */
static inline void assert_refused(void (*action)(void), const char *words) {
    char message[2000];
    int status = run_in_child(action, STDERR_FILENO, message);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
        fail_msg("status %x, and \"%s\"", status, message);
    if (strncmp(message, "error: ", 7) != 0 || !strstr(message, words))
        fail_msg("\"%s\", not \"%s\"", message, words);
    assert_ptr_equal(strchr(message, '\n'), message + strlen(message) - 1);
}

#endif
