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

/* The temporary files that are not complete yet. Atomic: a signal may come at any moment. */
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

/* SA_RESETHAND has restored the default action, so that raising the signal again ends the
 * program. */
static void remove_and_die(int signal) {
    output_abandon();
    raise(signal);
}

/* With SIGXFSZ handled, a write beyond the limit on file sizes fails and does not end the
 * program. */
static void let_the_write_fail(int signal) { (void)signal; }

void catch_signal(int signal, void handler(int), int flags) {
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

static _Atomic(char *) *free_place(const char *path) {
    for (int i = 0; i < MAX_UNFINISHED; i++)
        if (!unfinished[i]) return &unfinished[i];
    fail("cannot write %s: %d output files are open already", path, MAX_UNFINISHED);
}

static void forget(const char *temporary) {
    for (int i = 0; i < MAX_UNFINISHED; i++)
        if (unfinished[i] == temporary) unfinished[i] = NULL;
}

/* In the same directory, because rename cannot cross file systems. "x": a temporary file that
 * exists belongs to another process, which writes the same target now, or was killed while it did.
 * Signals are blocked until the file is in the list. */
static void open_temporary(Output *output) {
    sigset_t all, before;
    sigfillset(&all);
    size_t size = strlen(output->path) + sizeof ".tmp-" + 40;
    _Atomic(char *) *place = free_place(output->path);
    output->temporary = xrealloc(NULL, size);
    sigprocmask(SIG_SETMASK, &all, &before);
    for (int n = 0; !output->file && (n == 0 || errno == EEXIST); n++) {
        snprintf(output->temporary, size, "%s.tmp-%ld-%d", output->path, (long)getpid(), n);
        output->file = fopen(output->temporary, "wbx");
    }
    int error = errno;
    if (output->file) *place = output->temporary;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
}

/* The path of the file itself where the path is a link to it: the link stays. */
static char *behind_links(const char *path) {
    struct stat link;
    char *target = lstat(path, &link) == 0 && S_ISLNK(link.st_mode) ? realpath(path, NULL) : NULL;
    return target ? target : xstrndup(path, strlen(path));
}

Output output_open(const char *path) {
    /* Renaming over a directory fails; renaming over /dev/null succeeds, to everyone's regret. */
    struct stat existing;
    bool exists = stat(path, &existing) == 0, is_link = lstat(path, &(struct stat){0}) == 0;
    if (exists && !S_ISREG(existing.st_mode))
        fail("cannot write %s: it is %s", path,
             S_ISDIR(existing.st_mode) ? "a directory" : "not a regular file");
    if (!exists && is_link) /* its target may be on a disk that is not mounted */
        fail("cannot write %s: it is a link, and what it points to is not there: remove it, or "
             "name another file",
             path);

    watch_for_the_end();
    Output output = {.path = behind_links(path)};
    open_temporary(&output);
    if (!output.file)
        fail("cannot write %s: %s%s", path, strerror(errno),
             errno == ENOENT ? " (make its directory first)" : "");
    if (exists) (void)fchmod(fileno(output.file), existing.st_mode & 07777); /* same permissions */
    return output;
}

/* Without fsync the new name may reach the disk before the bytes: after a power failure the old
 * file would be gone and the new one empty. A file system without fsync answers EINVAL. */
static bool reaches_the_disk(FILE *file) { return fsync(fileno(file)) == 0 || errno == EINVAL; }

void output_close(Output *output) {
    errno = 0;
    bool written = fflush(output->file) == 0 && !ferror(output->file);
    written = written && reaches_the_disk(output->file);
    written = fclose(output->file) == 0 && written;
    if (!written || rename(output->temporary, output->path) != 0)
        fail("cannot write %s: %s", output->path,
             errno ? strerror(errno) : "a write failed; is the disk full?");
    forget(output->temporary);
    free(output->path);
    free(output->temporary);
    *output = (Output){0};
}
