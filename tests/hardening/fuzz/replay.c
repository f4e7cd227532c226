/* Gives a target the files that were kept, each once, without a fuzzer: replay_TARGET FOLDER|FILE …
 */
#include "common/file.h"
#include "tests/hardening/fuzz/fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__ /* what a reader has when it refuses a file is lost: the targets leave \
                               it by longjmp */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

enum { LIMIT = 60 }; /* seconds for one file, on a slow machine and under a sanitizer */

static const char *current;
static int passed;

/* A name tells more than "Aborted". */
static void name_it(int signal) {
    fprintf(stderr, "in %s: %s\n", current, strsignal(signal));
    _exit(1);
}

static void replay(const char *path) {
    struct stat status;
    DIR *folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? opendir(path) : NULL;
    if (!folder) {
        size_t size;
        char *bytes = file_read(current = path, &size);
        uint8_t *copy = malloc(
            size); /* of the exact size, so that a sanitizer sees what is read behind the end */
        memcpy(copy, bytes, size);
        alarm(LIMIT);
        LLVMFuzzerTestOneInput(copy, size);
        free(copy);
        free(bytes);
        passed++;
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') replay(inside);
    }
    closedir(folder);
}

int main(int argc, char **argv) {
    const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], name_it);
    for (int i = 1; i < argc; i++) replay(argv[i]);
    printf("%d passed, 0 failed\n", passed);
}
