/* Command lines: every program has --help, refuses unknown words, and says what it expected. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

typedef struct {
    const char *name;     /* "max-tokens"; "max-tokens|tokens": the older --max-tokens works, too */
    const char *argument; /* "N", or NULL for a flag; "TEXT …" may be given several times */
    const char *help;     /* one line, or NULL: --help does not show the option */
    const char **value;   /* receives the argument, or all [OPTION_TIMES], or "" for a flag;
                             untouched where the option is absent */
} Option;

enum { OPTION_TIMES = 16 }; /* no option more often */

/* Parses options[0..count), --max-tokens 5 or --max-tokens=5. An option may be given once, unless
 * its argument ends in …; an argument called FILE, DIR or PATH must not be empty. `usage` is what
 * follows the program's name, `about` one sentence for --help. Returns the index in argv of the
 * first word that is not an option. */
int parse_options(int argc, char **argv, const char *usage, const char *about, int count,
                  const Option options[]);

/* The same for a program that takes nothing but options. */
void only_options(int argc, char **argv, const char *usage, const char *about, int count,
                  const Option options[]);

/* For a command line that makes no sense: prints what is wrong and the usage line, and exits 2. */
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The whole number that option --name was given as text, from low to high, or usage_error(). */
unsigned long option_number(const char *name, const char *text, unsigned long low,
                            unsigned long high);

/* The same for a number with or without a point, such as 0.8 or 1e-3. */
double option_decimal(const char *name, const char *text, double low, double high);

/* The whole numbers, "1,2,3" or "1 2 3", that option --name was given as text, or fail(). The
 * caller frees. */
int *option_ids(const char *name, const char *text, int *count);

/* Runs the program of this name that lies beside this one, with the same words, in place of this
 * one; or fail(). For options that another program has taken over. */
_Noreturn void run_instead(const char *program, char **argv);

/* For a program without options but --help. */
void no_options(int argc, char **argv, const char *about);

/* For a program whose only option is --data DIR, for the data of figures. Returns DIR or NULL. */
const char *chapter_options(int argc, char **argv, const char *about);

#endif
