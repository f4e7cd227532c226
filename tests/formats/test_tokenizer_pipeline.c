/* What a tokenizer.json says step by step: which parts of a text its patterns find, what its steps
 * make of texts and tokens, and what cannot be is named. Whole files of other people's are in
 * test_tokenizer.c. */
#include "14_engine/tokenizers/pipeline.h"
#include "14_engine/tokenizers/regex.h"
#include "14_engine/tokenizers/steps.h"
#include "common/error.h"
#include "tests/refused.h"

#include <jansson.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ------------------------------------------------------------------ patterns */

/* All that the pattern finds in the text, each part with a "|" behind it. */
static const char *found_by(const char *expression, const char *text) {
    static char found[256];
    char *to = found;
    size_t from, end;
    Regex *pattern = regex_new("p", "where", expression);
    Search *search = search_new(pattern, strlen(text), text);
    search_part(search, 0, strlen(text));
    while (search_next(search, &from, &end))
        to += sprintf(to, "%.*s|", (int)(end - from), text + from);
    *to = '\0';
    search_free(search);
    regex_free(pattern);
    return found;
}

static void patterns_find_what_oniguruma_finds(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"\\p{Han}+", "a漢字b", "漢字|"},
        {"[^\\p{Han}b]+", "漢a字b", "a|"},
        {"\\x41|\\x{e9}|\\u00fc|\\x{1F999}", "A é ü 🦙 e9", "A|é|ü|🦙|"},
        {"\\x41b\\d", "Ab4 b4", "Ab4|"},
        {"\\P{L}+", "ab12 é", "12 |"},
        {"\\p{^L}+", "ab12", "12|"},
        {"\\D+", "12ab3", "ab|"},
        {"\\W+", "ab, ²c", ", |"},
        {"\\S+", "a\u3000b c", "a|b|c|"},
        {"[\\s\\d]+", "a 1\u00a02b", " 1\u00a02|"},
        {"[\\P{L}]", "a1", "1|"},
        {"a{2}", "aaaaa", "aa|aa|"},
        {"a{2,3}", "aaaa a", "aaa|"},
        {"a{2,}", "aaaa a", "aaaa|"},
        {"(?<=a)b|(?<!a)c|(?>d+)|(?!x)e(?=f)", "ab ac c dd eg ef", "b|c|dd|e|"},
        {"(a|b)c", "acbcc", "ac|bc|"},
        {"\\r\\n|\\t|\\f|\\ |\\.", "a.\r\n\t\f ", ".|\r\n|\t|\f| |"},
        {"x*", "xxéa", "xx|||"},
        {"(?=a)", "éaéa", "||"},
        {"[a[bc]d]+", "xabcdx", "abcd|"},
        {"[^[ab]]+", "acb", "c|"},
        {"(?i:ab)", "aBAb", "aB|Ab|"},
        {"[-a]", "-a]", "-|a|"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (strcmp(found_by(cases[i][0], cases[i][1]), cases[i][2]) != 0)
            fail_msg("%s finds in \"%s\": %s", cases[i][0], cases[i][1],
                     found_by(cases[i][0], cases[i][1]));
}

static const char *refused_text;
static void read_pattern(void) { regex_new("p", "where", refused_text); }

static void patterns_that_are_none_are_named(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"[]", "an empty class at byte 1"},
        {"[a", "a class without an end at byte 2"},
        {"[[a", "a class without an end"},
        {"[b-[a]]", "such a class in a class"},
        {"[[]a]", "such a class in a class"},
        {"a}", "a bracket at byte 1"},
        {"[[:alpha:]]", "such a class in a class"},
        {"a\\", "an escape at byte 1"},
        {"[a\\q]", "an escape at byte 2"},
        {"[\\W]", "an escape at byte 1"},
        {"\\xg", "a number that is none"},
        {"\\x{1234567}", "a number that is none"},
        {"\\u", "a number that is none"},
        {"\\x{41", "a number that is none"},
        {"\\x{110000}", "is none: "},
        {"\\p{Lx}", "this property"},
        {"\\p{L", "a property without braces"},
        {"a{1", "a brace"},
        {"a{", "a brace"},
        {"a{1,x}", "a brace"},
        {"a{1,99999999}", "is none: "},
        {"a{1,999999999}", "a brace"},
        {"a{1}{2}", "a repetition of a repetition"},
        {"a{1}?", "a repetition of a repetition"},
        {"(?i:xSt)", "a pair of letters"},
        {"(?i:a)é", "letters beyond ASCII in any case"},
        {"\\w\\x{e9}", "both classes and characters beyond ASCII"},
        {"(?#c)", "a group of this kind"},
        {"a)", "is none: "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        refused_text = cases[i][0];
        assert_refused(read_pattern, cases[i][1]);
    }
}

/* ------------------------------------------------------------------ steps */

/* A step with ' in place of ". */
static json_t *json_of(const char *text) {
    char plain[600];
    size_t length = strlen(text);
    for (size_t i = 0; i <= length; i++) plain[i] = text[i] == '\'' ? '"' : text[i];
    json_t *json = json_loads(plain, JSON_DECODE_ANY, NULL);
    if (!json) fail_msg("no JSON: %s", plain);
    return json;
}

/* What it makes of these pieces, which have a "|" behind them. */
static void assert_makes(const char *key, const char *step, const char *text, const char *right) {
    json_t *json = json_pack("{s: o}", key, json_of(step));
    Pipeline *p = xmalloc(sizeof *p);
    *p = (Pipeline){0};
    pipeline_read(p, "p", json);
    Pieces pieces = {0};
    for (const char *at = text; *at; at += strcspn(at, "|") + 1)
        pieces_add(&pieces, strcspn(at, "|"), at, at != text ? 0 : *at & 0x80 ? 2 : 1); /* é or a */
    steps_apply(*key == 'n'   ? &p->normalizer
                : *key == 'p' ? &p->pre_tokenizer
                              : &p->decoder,
                &pieces);
    char got[256], *to = got;
    *to = '\0';
    for (size_t i = 0; i < pieces.count; i++)
        to += sprintf(to, "%.*s|", (int)pieces.pieces[i].length,
                      pieces.text.text + pieces.pieces[i].start);
    if (strcmp(got, right) != 0) fail_msg("%s makes of %s %s", step, text, got);
    pieces_free(&pieces);
    pipeline_free(p);
    json_decref(json);
}

static void steps_do_what_they_say(void **state) {
    (void)state;
    static const char *const cases[][4] = {
        {"normalizer",
         "{'type': 'Sequence', 'normalizers': [null, {'type': 'Prepend', 'prepend': '_'}, {'type': "
         "'Replace', 'pattern': {'Regex': 'b+'}, 'content': ''}]}",
         "abbc|", "_ac|"},
        {"pre_tokenizer", "{'type': 'Metaspace', 'replacement': '_', 'add_prefix_space': false}",
         "a b|", "a|_b|"},
        {"pre_tokenizer", "{'type': 'Metaspace', 'replacement': '_'}", "a b|", "_a|_b|"},
        {"pre_tokenizer",
         "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'first', 'split': false}",
         "a b|c|_d|", "_a_b|c|_d|"},
        {"pre_tokenizer",
         "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'never', 'split': null}",
         "a b|c|", "a|_b|c|"},
        {"pre_tokenizer", "{'type': 'Digits'}", "a12b|", "a|12|b|"},
        {"pre_tokenizer", "{'type': 'Digits', 'individual_digits': true}", "a12b|", "a|1|2|b|"},
        {"pre_tokenizer", "{'type': 'Punctuation'}", "a,!b|", "a|,|!|b|"},
        {"pre_tokenizer", "{'type': 'Punctuation', 'behavior': 'Contiguous'}", "a,!b|", "a|,!|b|"},
        {"pre_tokenizer", "{'type': 'Punctuation', 'behavior': 'MergedWithPrevious'}", "a,!b|",
         "a,|!|b|"},
        {"pre_tokenizer",
         "{'type': 'Split', 'pattern': {'String': 'x'}, 'behavior': 'Removed', 'invert': true}",
         "axxb|", "x|x|"},
        {"pre_tokenizer",
         "{'type': 'Split', 'pattern': {'String': 'x'}, 'behavior': 'MergedWithNext'}", "axxb|",
         "a|x|xb|"},
        {"pre_tokenizer", "{'type': 'WhitespaceSplit'}", " a  b|", "a|b|"},
        {"pre_tokenizer", "{'type': 'Whitespace'}", "ab, c|", "ab|,|c|"},
        {"pre_tokenizer", "{'type': 'ByteLevel', 'add_prefix_space': false}", "é it's|",
         "Ã©|Ġit|'s|"},
        {"pre_tokenizer", "{'type': 'ByteLevel', 'use_regex': false}", "a b|", "ĠaĠb|"},
        {"decoder", "{'type': 'Strip', 'content': 'x', 'start': 1, 'stop': 2}", "xxaxxx|x||xaxb|",
         "xax|||axb|"},
        {"decoder", "{'type': 'Metaspace', 'replacement': '_'}", "_a_|_b|", "a| b|"},
        {"decoder", "{'type': 'Metaspace', 'replacement': '_', 'add_prefix_space': false}",
         "_a|_b|", " a| b|"},
        {"decoder", "{'type': 'ByteFallback'}", "<0xC3>|<0xA9>|a|<0x+A>|b|<0xc3>|<0x4G>|<0x100>|",
         "é|a|\n|b|\uFFFD|<0x4G>|<0x100>|"},
        {"decoder", "{'type': 'Fuse'}", "a||b|", "ab|"},
        {"decoder", "{'type': 'ByteLevel'}", "Ã|©Ġ|🦙|", "é 🦙|"},
        {"decoder", "null", "a|b|", "a b|"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_makes(cases[i][0], cases[i][1], cases[i][2], cases[i][3]);
}

static const char *refused_key;
static void read_refused(void) {
    pipeline_read(&(Pipeline){0}, "p", json_pack("{s: o}", refused_key, json_of(refused_text)));
}

static void steps_that_cannot_be_are_named(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"normalizer", "'NFC'", "p: normalizer is \"NFC\": it has no type"},
        {"normalizer", "{'type': 3}", "it has no type"},
        {"normalizer", "{'type': 'Sequence', 'normalizers': [{}]}",
         "normalizer is {}: it has no type"},
        {"normalizer", "{'type': 'Prepend', 'prepend': 3}", "it needs a text where there is none"},
        {"normalizer", "{'type': 'Replace', 'pattern': {'String': 'a'}}",
         "it needs a text where there is none"},
        {"normalizer", "{'type': 'Replace', 'content': 'a'}", "it needs a pattern"},
        {"normalizer",
         "{'type': 'Replace', 'content': 'a', 'pattern': {'String': 'a', 'Regex': 'a'}}",
         "it needs a pattern"},
        {"normalizer", "{'type': 'Replace', 'content': 'a', 'pattern': {'Regex': ''}}",
         "it needs a pattern"},
        {"normalizer", "{'type': 'Replace', 'content': 'a', 'pattern': {'Regex': '('}}",
         "the pattern \"(\" is none"},
        {"normalizer", "{'type': 'Strip'}",
         "known are NFC, NFD, NFKC, NFKD, Lowercase, Prepend and Replace"},
        {"pre_tokenizer", "{'type': 'Metaspace', 'replacement': ''}",
         "it needs one character where there is none"},
        {"pre_tokenizer", "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 3}",
         "it needs a text"},
        {"pre_tokenizer", "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'last'}",
         "its prepend_scheme must be never, first or always"},
        {"pre_tokenizer", "{'type': 'ByteLevel', 'add_prefix_space': 0}",
         "what should be true or false is neither"},
        {"pre_tokenizer",
         "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Removed', 'invert': 'no'}",
         "what should be true or false is neither"},
        {"pre_tokenizer", "{'type': 'Punctuation', 'behavior': 'Kept'}", "its behavior is unknown"},
        {"decoder", "{'type': 'Strip', 'content': 'ab', 'start': 0, 'stop': 0}",
         "one character where there is none, or"},
        {"decoder", "{'type': 'Strip', 'content': 'a', 'start': 1}",
         "what should be a count is none"},
        {"decoder", "{'type': 'Strip', 'content': 'a', 'start': 8001, 'stop': 0}",
         "what should be a count is none"},
        {"decoder", "{'type': 'Strip', 'content': 'a', 'start': 0, 'stop': 0.5}",
         "what should be a count is none"},
        {"decoder", "{'type': 'BPEDecoder'}",
         "known are ByteLevel, Replace, ByteFallback, Fuse, Strip and Metaspace"},
        {"decoder", "{'type': 'Sequence', 'decoders': {}}", "it is a Sequence of nothing"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        refused_key = cases[i][0];
        refused_text = cases[i][1];
        assert_refused(read_refused, cases[i][2]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_that_are_none_are_named),
        cmocka_unit_test(steps_that_cannot_be_are_named),
        cmocka_unit_test(patterns_find_what_oniguruma_finds),
        cmocka_unit_test(steps_do_what_they_say),
    };
    return cmocka_run_group_tests_name("steps", tests, NULL, NULL) != 0;
}
