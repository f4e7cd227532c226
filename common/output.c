#include "common/output.h"
#include "common/error.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary files that are not complete yet. Atomic, because a signal may come at any moment. */
enum { MAX_UNFINISHED = 32 };
static _Atomic(char *) unfinished[MAX_UNFINISHED];
static pid_t owner; /* of the list: a forked child inherits it, but not the files */

void output_abandon(void) {
    if (getpid() != owner) return;
    for (int i = 0; i < MAX_UNFINISHED; i++) {
        const char *temporary = unfinished[i];
        if (temporary) unlink(temporary);
    }
}

/* SA_RESETHAND has already put the default action back: raising the signal again ends the program by it. */
static void remove_and_die(int signal) {
    output_abandon();
    raise(signal);
}

/* Where the size of files is limited, the write that goes too far is an error then, and not the end of the program. */
static void let_the_write_fail(int signal) { (void)signal; }

/* A signal that the program ignores or handles itself is left alone. */
static void catch_signal(int signal, void handler(int), int flags) {
    struct sigaction current, ours = {.sa_handler = handler, .sa_flags = flags};
    if (sigaction(signal, NULL, &current) == 0 && current.sa_handler == SIG_DFL)
        sigaction(signal, &ours, NULL);
}

static void watch_for_the_end(void) {
    if (owner == getpid()) return;
    for (int i = 0; i < MAX_UNFINISHED; i++) unfinished[i] = NULL;
    owner = getpid();
    atexit(output_abandon);
    catch_signal(SIGHUP, remove_and_die, SA_RESETHAND);
    catch_signal(SIGINT, remove_and_die, SA_RESETHAND);
    catch_signal(SIGPIPE, remove_and_die, SA_RESETHAND);
    catch_signal(SIGTERM, remove_and_die, SA_RESETHAND);
    catch_signal(SIGXFSZ, let_the_write_fail, 0);
}

static void remember(char *temporary) {
    for (int i = 0; i < MAX_UNFINISHED; i++) {
        if (unfinished[i]) continue;
        unfinished[i] = temporary;
        return;
    }
    fail("cannot write %s: %d output files are open already", temporary, MAX_UNFINISHED);
}

static void forget(const char *temporary) {
    for (int i = 0; i < MAX_UNFINISHED; i++)
        if (unfinished[i] == temporary) unfinished[i] = NULL;
}

Output output_open(const char *path) {
    /* Renaming over a directory fails; renaming over /dev/null succeeds, to everyone's regret. */
    struct stat existing;
    if (stat(path, &existing) == 0 && !S_ISREG(existing.st_mode))
        fail("cannot write %s: it is %s", path,
             S_ISDIR(existing.st_mode) ? "a directory" : "not a regular file");

    /* The same directory, because rename cannot cross file systems. */
    size_t size = strlen(path) + sizeof ".tmp-" + 20;
    Output output = {.path = allocate(strlen(path) + 1), .temporary = allocate(size)};
    strcpy(output.path, path);
    snprintf(output.temporary, size, "%s.tmp-%ld", path, (long)getpid());

    watch_for_the_end();
    remember(output.temporary);
    output.file = fopen(output.temporary, "wb");
    if (!output.file)
        fail("cannot write %s: %s%s", path, strerror(errno),
             errno == ENOENT ? " (make its directory first)" : "");
    return output;
}

void output_close(Output *output) {
    errno = 0;
    bool written = fflush(output->file) == 0 && !ferror(output->file);
    written = fclose(output->file) == 0 && written;
    if (!written || rename(output->temporary, output->path) != 0)
        fail("cannot write %s: %s", output->path,
             errno ? strerror(errno) : "a write failed; is the disk full?");
    forget(output->temporary);
    free(output->path);
    free(output->temporary);
    *output = (Output){0};
}
