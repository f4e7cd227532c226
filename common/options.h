/* Command lines: every program has --help, refuses what it does not know, and says what it expected. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

typedef struct {
    const char *name;     /* "tokens" for --tokens */
    const char *argument; /* "N", or NULL for a flag; "TEXT …" may be given several times */
    const char *help;     /* what it does, one line */
    const char **value;   /* receives the argument, or all [OPTION_TIMES], or "" for a flag; untouched if absent */
} Option;

enum { OPTION_TIMES = 16 }; /* no option more often */

/* Parses options[0..count), --tokens 5 or --tokens=5, each of which may be given once, but for those with a …; an
 * argument called FILE, DIR or PATH must not be empty. `usage` is what follows the program's name, `about` one sentence
 * for --help. Returns the index in argv of the first word that is no option. */
int parse_options(int argc, char **argv, const char *usage, const char *about, int count, const Option options[]);

/* The same for a program that takes nothing but options. */
void only_options(int argc, char **argv, const char *usage, const char *about, int count, const Option options[]);

/* A command line that makes no sense: prints what is wrong with it and the usage line, and exits 2. */
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The whole number that option --name was given as text, from low to high, or usage_error(). */
unsigned long option_number(const char *name, const char *text, unsigned long low, unsigned long high);

/* The same for a number with or without a point, such as 0.8 or 1e-3. */
double option_decimal(const char *name, const char *text, double low, double high);

/* The whole numbers, "1,2,3" or "1 2 3", that option --name was given as text, or fail(). The caller frees. */
int *option_ids(const char *name, const char *text, int *count);

/* Runs the program of this name that lies beside this one, with the same words, in place of this one; or fail(). For
 * options that another program has taken over. */
_Noreturn void run_instead(const char *program, char **argv);

/* A program with nothing to choose: --help, and that is all. */
void no_options(int argc, char **argv, const char *about);

/* What a program takes that writes what figures are drawn from: nothing but --data DIR, where it writes that.
 * Returns DIR, or NULL. */
const char *chapter_options(int argc, char **argv, const char *about);

#endif
