/* Command lines: older spellings of an option, options that --help does not show, and messages that
 * name the new one. */
#include "common/options.h"
#include "tests/refused.h"

static const char *tokens, *stops[OPTION_TIMES], *quiet, *hidden;
static const Option options[] = {
    {"max-tokens|tokens|n-predict", "N", "write so many tokens", &tokens},
    {"stop", "TEXT …", "end before this text", stops},
    {"quiet|silent", NULL, "nothing but the text", &quiet},
    {"bf16", NULL, NULL, &hidden},
};
enum { OPTIONS = sizeof options / sizeof *options, MOST_WORDS = 10 };

/* Parses the words, up to a NULL. Returns the index of the first that is not an option. */
static int parse(const char *const words[]) {
    static char *argv[MOST_WORDS];
    int argc = 0;
    argv[argc++] = "program";
    for (; *words; words++) argv[argc++] = (char *)*words;
    tokens = quiet = hidden = NULL;
    memset(stops, 0, sizeof stops);
    return parse_options(argc, argv, "[options]", "A program.", OPTIONS, options);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void every_spelling_is_the_option(void **) {
    static const char *const spellings[] = {"--max-tokens", "--tokens", "--n-predict"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(PARSE(spellings[i], "5"), 3);
        assert_string_equal(tokens, "5");
    }
    PARSE("--tokens=7", "--silent", "--bf16", "--stop", "a", "--stop=b");
    assert_string_equal(tokens, "7");
    assert_string_equal(quiet, "");
    assert_string_equal(hidden, "");
    assert_string_equal(stops[0], "a");
    assert_string_equal(stops[1], "b");
}

static const char *const *child_words;
static void parse_in_child(void) { parse(child_words); }

/* What a program that ends with this status writes to stdout or stderr. */
static const char *said_by(const char *const words[], int stream, int expected_status) {
    static char text[2000];
    child_words = words;
    int status = run_in_child(parse_in_child, stream, text);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), expected_status);
    return text;
}

static void help_shows_the_first_spelling(void **) {
    const char *help = said_by((const char *const[]){"--help", NULL}, STDOUT_FILENO, 0);
    assert_non_null(strstr(help, "\n  --max-tokens N          write so many tokens\n"));
    assert_non_null(strstr(help, "\n  --quiet "));
    assert_null(strstr(help, "--tokens"));
    assert_null(strstr(help, "predict"));
    assert_null(strstr(help, "silent"));
    assert_null(strstr(help, "bf16"));
    assert_null(strchr(help, '|'));
}

static void messages_name_the_first_spelling(void **) {
    static const struct {
        const char *words[4], *message;
    } cases[] = {
        {{"--tokens"}, "error: --max-tokens needs its N\n"},
        {{"--tokens", "5", "--max-tokens=6"}, "error: --max-tokens is there twice\n"},
        {{"--tokens", "--silent"},
         "error: --max-tokens needs its N, and --silent is an option: --max-tokens=--silent"},
        {{"--silent=1"}, "error: --silent=1: --quiet takes no value\n"},
        {{"--token", "5"}, "error: --token is not understood\n"},
        {{"--max-tokens|tokens", "5"}, "error: --max-tokens|tokens is not understood\n"},
        {{"--", "5"}, "error: -- is not understood\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = said_by(cases[i].words, STDERR_FILENO, 2);
        if (strncmp(said, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("\"%s\", not \"%s\"", said, cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_is_the_option),
        cmocka_unit_test(help_shows_the_first_spelling),
        cmocka_unit_test(messages_name_the_first_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
