#include "common/file.h"
#include "common/error.h"
#include "common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ in memory */

/* The longest text that is read: /dev/zero never ends. */
enum { MOST_BYTES = INT_MAX / 4 };

/* All bytes of an open file. NULL: it could not be opened. */
static char *read_all(const char *path, FILE *file, size_t *length) {
    if (!file) fail("%s: %s", path, strerror(errno));
    size_t capacity = 1 << 16, got;
    char *bytes = xrealloc(NULL, capacity);
    *length = 0;
    /* A pipe does not tell its length. On a terminal one Ctrl-D is the end. */
    while (!feof(file) && (got = fread(bytes + *length, 1, capacity - *length - 1, file)) > 0) {
        *length += got;
        if (*length > MOST_BYTES)
            fail("%s: it has more than %d bytes: that is too long", path, MOST_BYTES);
        if (*length + 1 == capacity) bytes = xrealloc(bytes, capacity *= 2);
    }
    if (ferror(file)) {
        const char *why = strerror(errno);
        free(bytes);
        fail("%s: %s", path, why);
    }
    if (file != stdin) fclose(file);
    bytes[*length] = '\0';
    return bytes;
}

char *file_read(const char *path, size_t *length) {
    if (strcmp(path, "-") == 0) return read_all("standard input", stdin, length);
    return read_all(path, fopen(path, "rb"), length);
}

/* Whether it is the note that git-lfs leaves in place of a large file that was not fetched. */
static bool is_pointer(int descriptor) {
    static const char begins[] = "version https://git-lfs";
    char head[sizeof begins - 1];
    if (pread(descriptor, head, sizeof head, 0) != sizeof head) return false;
    return memcmp(head, begins, sizeof head) == 0;
}

/* The descriptor of a regular file, or -1 with the reason. The descriptor is what is checked, so
 * that no other file can take the place of the path in between. */
static int open_regular(const char *path, size_t *size, char why[static FILE_WHY]) {
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK); /* a pipe must not wait for its writer */
    if (descriptor < 0 && errno == ENOENT && lstat(path, &status) == 0)
        snprintf(why, FILE_WHY,
                 "it is a link, and what it points to is not there: copy that, too (cp -L)");
    else if (descriptor < 0 || fstat(descriptor, &status) != 0)
        snprintf(why, FILE_WHY, "cannot open it: %s", strerror(errno));
    else if (S_ISDIR(status.st_mode))
        snprintf(why, FILE_WHY, "it is a directory: name a file in it");
    else if (!S_ISREG(status.st_mode)) snprintf(why, FILE_WHY, "it is not a regular file");
    else if ((uintmax_t)status.st_size > SIZE_MAX / 2)
        snprintf(why, FILE_WHY, "it has more bytes than there are addresses");
    else if (is_pointer(descriptor))
        snprintf(
            why, FILE_WHY,
            "it is git-lfs's note of where the file is, and not the file: git lfs pull fetches it");
    else {
        *size = (size_t)status.st_size;
        return descriptor;
    }
    if (descriptor >= 0) close(descriptor);
    return -1;
}

char *file_read_regular(const char *path, size_t *length) {
    char why[FILE_WHY];
    size_t size;
    int descriptor = open_regular(path, &size, why);
    if (descriptor < 0) fail("%s: %s", path, why);
    return read_all(path, fdopen(descriptor, "rb"), length);
}

/* ------------------------------------------------------------------ mapped
 *
 * Reading bytes that a mapped file no longer has is the signal SIGBUS. The message is prepared when
 * the file is mapped, because a signal handler may do almost nothing. */

typedef struct Mapped {
    const char *bytes;
    size_t size;
    dev_t device;
    ino_t number;
    struct Mapped *next;
    char words[]; /* the message */
} Mapped;

static Mapped *all_mapped;
static struct sigaction before; /* the action on SIGBUS before ours */

/* Several threads may come here at once; only the first one prints. */
static void on_missing_bytes(int signal, siginfo_t *info, void *context) {
    static atomic_flag spoken = ATOMIC_FLAG_INIT;
    const char *address = info->si_addr;
    (void)context;
    for (const Mapped *m = all_mapped; m; m = m->next) {
        if (address < m->bytes || address >= m->bytes + m->size) continue;
        while (atomic_flag_test_and_set(&spoken)) pause();
        output_abandon();
        if (write(STDERR_FILENO, m->words, strlen(m->words)) < 0) _exit(1);
        _exit(1);
    }
    sigaction(signal, &before, NULL); /* not of our files: it comes again, to the former action */
}

static void remember(const char *path, int descriptor, const void *bytes, size_t size) {
    static const char format[] =
        "error: %s: its bytes are gone: was it shortened while it was read?";
    struct sigaction ours = {.sa_sigaction = on_missing_bytes, .sa_flags = SA_SIGINFO};
    size_t room = sizeof format + strlen(path) + 1;
    Mapped *mapped = xmalloc(sizeof *mapped + room);
    struct stat status = {0};
    fstat(descriptor, &status);
    *mapped = (Mapped){bytes, size, status.st_dev, status.st_ino, all_mapped};
    snprintf(mapped->words, room, format, path);
    blank_control_characters(mapped->words);
    strcat(mapped->words, "\n");
    if (!all_mapped) sigaction(SIGBUS, &ours, &before);
    all_mapped = mapped;
}

/* With the last file goes the handler. */
static void forget(const void *bytes) {
    Mapped **at = &all_mapped;
    while (*at && (*at)->bytes != bytes) at = &(*at)->next;
    Mapped *gone = *at;
    if (gone) *at = gone->next;
    if (gone && !all_mapped) sigaction(SIGBUS, &before, NULL);
    free(gone);
}

bool file_map(const char *path, void **bytes, size_t *size, char why[static FILE_WHY]) {
    int descriptor = open_regular(path, size, why);
    if (descriptor < 0) return false;
    *bytes = *size ? mmap(NULL, *size, PROT_READ, MAP_PRIVATE, descriptor, 0) : NULL;
    if (*bytes == MAP_FAILED) snprintf(why, FILE_WHY, "cannot map it: %s", strerror(errno));
    else if (*bytes) remember(path, descriptor, *bytes, *size);
    close(descriptor);
    return *bytes != MAP_FAILED;
}

void file_unmap(void *bytes, size_t size) {
    if (!bytes) return;
    forget(bytes);
    munmap(bytes, size);
}

void file_unload(const void *bytes, size_t size) {
    const char *begin = bytes;
    size_t before = (uintptr_t)begin % (size_t)sysconf(_SC_PAGESIZE); /* of its first page */
    for (const Mapped *m = all_mapped; m; m = m->next)
        if (begin >= m->bytes && begin < m->bytes + m->size)
            madvise((void *)(begin - before), size + before, MADV_DONTNEED);
}

bool file_is_there(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

bool file_is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool file_is_mapped(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return false;
    for (const Mapped *m = all_mapped; m; m = m->next)
        if (m->device == status.st_dev && m->number == status.st_ino) return true;
    return false;
}

bool file_has(const char *path, size_t at, const char *bytes) {
    void *all;
    size_t size, count = strlen(bytes);
    char why[FILE_WHY];
    if (!file_map(path, &all, &size, why)) return false;
    bool has = size >= at + count && memcmp((const char *)all + at, bytes, count) == 0;
    file_unmap(all, size);
    return has;
}

bool file_would_be_lost(const char *path, size_t at, const char *bytes) {
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return false;
    return !file_has(path, at, bytes);
}

bool name_ends_in(const char *name, const char *ending) {
    size_t length = strlen(name), wanted = strlen(ending);
    return length >= wanted && strcmp(name + length - wanted, ending) == 0;
}

char *shell_word(const char *path) {
    /* A quote in the word: the quoted part ends, a quote by itself follows, a new part begins. */
    static const char quote[] = "'\\''";
    char *word = xmalloc(strlen(path) * strlen(quote) + sizeof "''"), *to = word;
    *to++ = '\'';
    for (; *path; path++) {
        if (*path == '\'') to = stpcpy(to, quote);
        else *to++ = *path;
    }
    strcpy(to, "'");
    return word;
}
