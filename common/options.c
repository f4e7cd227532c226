#include "common/options.h"
#include "common/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_help(const char *program, const char *usage, const char *about, int count,
                       const Option options[]) {
    printf("usage: %s %s\n%s\n\n", program, usage, about);
    for (int i = 0; i < count; i++) {
        int used = printf("  --%s %s", options[i].name, options[i].argument ? options[i].argument : "");
        printf("%*s%s\n", used < 24 ? 24 - used : 1, "", options[i].help);
    }
    printf("  --help%*sthis text\n", 16, "");
}

/* Text cut off by a full disk is an error too, though nobody waits for the last of it but exit. */
static void finish_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return;
    fprintf(stderr, "error: the output cannot be written: %s\n", strerror(errno));
    _exit(1);
}

static const Option *option_named(const char *name, int count, const Option options[]) {
    for (int i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0) return &options[i];
    return NULL;
}

int parse_options(int argc, char **argv, const char *usage, const char *about, int count, const Option options[]) {
    atexit(finish_output);
    int rest = argc; /* words that are no options move there, in their order */
    for (int i = 1; i < rest;) {
        char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0') { /* "-" is stdin */
            memmove(&argv[i], &argv[i + 1], (size_t)(argc - 1 - i) * sizeof *argv);
            argv[argc - 1] = word, rest--;
            continue;
        }
        if (strcmp(word, "--help") == 0) {
            print_help(argv[0], usage, about, count, options);
            exit(0);
        }
        const Option *option = word[1] == '-' ? option_named(word + 2, count, options) : NULL;
        if (!option) fail("%s is not understood: see %s --help", word, argv[0]);
        if (option->argument && i + 1 == rest) fail("%s needs its %s: see %s --help", word, option->argument, argv[0]);
        *option->value = option->argument ? argv[i + 1] : "";
        i += option->argument ? 2 : 1;
    }
    return rest;
}

const char *chapter_options(int argc, char **argv, const char *about) {
    const char *data = NULL;
    Option options[] = {{"data", "DIR", "write there what the figures are drawn from", &data}};
    int rest = parse_options(argc, argv, "[--data DIR]", about, 1, options);
    if (rest < argc) fail("%s is not understood: see %s --help", argv[rest], argv[0]);
    if (data && !data[0]) fail("--data needs the name of a folder: see %s --help", argv[0]);
    return data;
}
