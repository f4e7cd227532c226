#include "common/options.h"
#include "common/error.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(const char *program, const char *usage, const char *about, int count,
                       const Option options[]) {
    enum { COLUMN = 26 };
    printf("usage: %s %s\n%s\n\n", program, usage, about);
    for (int i = 0; i < count; i++) {
        int used = printf("  --%s %s", options[i].name, options[i].argument ? options[i].argument : "");
        printf("%*s%s\n", used < COLUMN ? COLUMN - used : 1, "", options[i].help);
    }
    printf("  --help%*sthis text\n", COLUMN - 8, "");
}

static const char *shown_program, *shown_usage; /* what a misuse is answered with */

_Noreturn void usage_error(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_error(format, arguments);
    fprintf(stderr, "usage: %s %s (--help says more)\n", shown_program, shown_usage);
    exit(2);
}

static const Option *option_named(const char *name, int count, const Option options[]) {
    for (int i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0) return &options[i];
    return NULL;
}

int parse_options(int argc, char **argv, const char *usage, const char *about, int count, const Option options[]) {
    atexit(finish_output);
    shown_program = argv[0], shown_usage = usage;
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
        if (!option) usage_error("%s is not understood", word);
        if (option->argument && i + 1 == rest) usage_error("%s needs its %s", word, option->argument);
        *option->value = option->argument ? argv[i + 1] : "";
        i += option->argument ? 2 : 1;
    }
    return rest;
}

unsigned long option_number(const char *name, const char *text, unsigned long low, unsigned long high) {
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (isdigit((unsigned char)*text) && !*end && !errno && number >= low && number <= high) return number;
    if (low == 0 && high == ULONG_MAX) usage_error("--%s %s: a whole number is needed", name, text);
    usage_error("--%s %s: a whole number from %lu to %lu is needed", name, text, low, high);
}

const char *chapter_options(int argc, char **argv, const char *about) {
    const char *data = NULL;
    Option options[] = {{"data", "DIR", "write there what the figures are drawn from", &data}};
    int rest = parse_options(argc, argv, "[--data DIR]", about, 1, options);
    if (rest < argc) usage_error("%s is not understood", argv[rest]);
    if (data && !data[0]) usage_error("--data needs the name of a folder");
    return data;
}
