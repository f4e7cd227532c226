#include "common/options.h"
#include "common/error.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name that messages use: the first spelling. For printf's "%.*s". */
#define SHOWN(option) (int)strcspn((option)->name, "|"), (option)->name

static void print_help(const char *program, const char *usage, const char *about, int count,
                       const Option options[]) {
    enum { COLUMN = 26 };
    printf("usage: %s %s\n%s\n\n", program, usage, about);
    for (int i = 0; i < count; i++) {
        const Option *option = &options[i];
        if (!option->help) continue;
        int used = printf("  --%.*s %s", SHOWN(option), option->argument ? option->argument : "");
        printf("%*s%s\n", used < COLUMN ? COLUMN - used : 1, "", option->help);
    }
    printf("  --help, -h%*sthis text\n", COLUMN - 12, "");
}

static const char *shown_program, *shown_usage; /* for usage_error() */

_Noreturn void usage_error(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_error(format, arguments);
    fprintf(stderr, "usage: %s %s (--help says more)\n", shown_program, shown_usage);
    exit(2);
}

/* The next file that is opened takes the number of a standard stream that is closed, and what we
 * print would end up in that file. Something is opened there instead that can neither be read nor
 * written, so that using the stream is an error. */
static void fill_closed_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0)
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Whether one of the spellings "max-tokens|tokens" is this name. */
static bool has_spelling(const char *spellings, size_t length, const char *name) {
    for (const char *spelling = spellings; spelling;) {
        if (strcspn(spelling, "|") == length && strncmp(spelling, name, length) == 0) return true;
        spelling = strchr(spelling, '|');
        if (spelling) spelling++;
    }
    return false;
}

/* The option that a word names, as in --max-tokens or --max-tokens=5, or NULL. *value is the text
 * after the =, or NULL. */
static const Option *option_named(const char *word, int count, const Option options[],
                                  const char **value) {
    if (strncmp(word, "--", 2) != 0) return NULL;
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    *value = name[length] ? name + length + 1 : NULL;
    for (int i = 0; i < count; i++)
        if (has_spelling(options[i].name, length, name)) return &options[i];
    return NULL;
}

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* A text may be empty; the name of a file may not. */
static bool names_a_file(const char *argument) {
    return strstr(argument, "FILE") || strstr(argument, "DIR") || strstr(argument, "PATH");
}

/* Stores an argument. Most options may be given once: one of two values would be ignored. */
static void store(const Option *option, const char *argument, int *given) {
    if (*given && !(option->argument && strstr(option->argument, "…")))
        usage_error("--%.*s is there twice", SHOWN(option));
    if (*given == OPTION_TIMES)
        usage_error("--%.*s is there over %d times", SHOWN(option), OPTION_TIMES);
    if (option->argument && !*argument && names_a_file(option->argument))
        usage_error("--%.*s needs its %s", SHOWN(option), option->argument);
    option->value[(*given)++] = argument;
}

/* The word after an option is its argument, whatever it begins with. But where it is another
 * option, the argument was forgotten. */
static const char *next_word(const Option *option, const char *word, int count,
                             const Option options[]) {
    const char *value;
    if (!word) usage_error("--%.*s needs its %s", SHOWN(option), option->argument);
    if (option_named(word, count, options, &value) || strcmp(word, "--help") == 0)
        usage_error("--%.*s needs its %s, and %s is an option: --%.*s=%s is for who means that",
                    SHOWN(option), option->argument, word, SHOWN(option), word);
    return word;
}

int parse_options(int argc, char **argv, const char *usage, const char *about, int count,
                  const Option options[]) {
    fill_closed_streams();
    atexit(finish_output);
    int given[count + 1]; /* how often; an array must not be empty */
    memset(given, 0, sizeof given);
    shown_program = argv[0];
    shown_usage = usage;
    int rest = argc; /* words that are not options move there, in their order */
    for (int i = 1; i < rest;) {
        char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0') { /* "-" is stdin */
            memmove(&argv[i], &argv[i + 1], (size_t)(argc - 1 - i) * sizeof *argv);
            argv[argc - 1] = word;
            rest--;
            continue;
        }
        if (asks_for_help(word)) {
            print_help(argv[0], usage, about, count, options);
            exit(0);
        }
        const char *value;
        const Option *option = option_named(word, count, options, &value);
        if (!option) usage_error("%s is not understood", word);
        if (value && !option->argument)
            usage_error("%s: --%.*s takes no value", word, SHOWN(option));
        const bool separate = option->argument && !value; /* the next word is the argument */
        if (separate) value = next_word(option, i + 1 < rest ? argv[i + 1] : NULL, count, options);
        store(option, value ? value : "", &given[option - options]);
        i += separate ? 2 : 1;
    }
    return rest;
}

unsigned long option_number(const char *name, const char *text, unsigned long low,
                            unsigned long high) {
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    const bool is_number = isdigit((unsigned char)*text) && !*end && !errno;
    if (is_number && number >= low && number <= high) return number;
    if (low == 0 && high == ULONG_MAX) usage_error("--%s %s: a whole number is needed", name, text);
    if (high == ULONG_MAX)
        usage_error("--%s %s: a whole number of %lu or more is needed", name, text, low);
    usage_error("--%s %s: a whole number from %lu to %lu is needed", name, text, low, high);
}

/* strtod accepts more than people write: hexadecimal numbers, nan, infinities, leading blanks. */
double option_decimal(const char *name, const char *text, double low, double high) {
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    const bool decimal = *text && text[strspn(text, "0123456789.eE+-")] == '\0';
    if (decimal && !*end && !errno && number >= low && number <= high) return number;
    usage_error("--%s %s: a number from %g to %g is needed", name, text, low, high);
}

int *option_ids(const char *name, const char *text, int *count) {
    int *ids = xmalloc((strlen(text) / 2 + 1) * sizeof *ids);
    for (*count = 0;; text++) {
        char *end;
        errno = 0;
        long id = strtol(text, &end, 10);
        if (!isdigit((unsigned char)text[*text == '-']) || errno || id < INT_MIN || id > INT_MAX)
            fail("--%s: \"%.20s\" is no token: write 1,2,3", name, text);
        ids[(*count)++] = (int)id;
        if (*end == '\0') return ids;
        if (*end != ',' && *end != ' ')
            fail("--%s: \"%.20s\" is no list of tokens: write 1,2,3", name, text);
        text = end;
    }
}

void only_options(int argc, char **argv, const char *usage, const char *about, int count,
                  const Option options[]) {
    int rest = parse_options(argc, argv, usage, about, count, options);
    if (rest < argc) usage_error("%s is not understood", argv[rest]);
}

_Noreturn void run_instead(const char *program, char **argv) {
    const char *slash = strrchr(argv[0], '/');
    int folder = slash ? (int)(slash + 1 - argv[0]) : 0; /* 0: both are found by PATH */
    char path[folder + strlen(program) + 1];
    sprintf(path, "%.*s%s", folder, argv[0], program);
    argv[0] = path;
    execvp(path, argv);
    fail("%s: this program takes these options, and it cannot be run: %s: make builds it", path,
         strerror(errno));
}

void no_options(int argc, char **argv, const char *about) {
    only_options(argc, argv, "[--help]", about, 0, NULL);
}

const char *chapter_options(int argc, char **argv, const char *about) {
    const char *data = NULL;
    Option options[] = {{"data", "DIR", "write there what the figures are drawn from", &data}};
    only_options(argc, argv, "[--data DIR]", about, 1, options);
    return data;
}
