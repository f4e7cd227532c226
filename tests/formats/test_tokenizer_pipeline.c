/* What a tokenizer.json says step by step: which parts of a text its patterns find, what its steps
 * make of texts and tokens, and what cannot be is named. Whole files of other people's are in
 * test_tokenizer.c. */
#include "14_engine/tokenizers/pipeline.h"
#include "14_engine/tokenizers/regex.h"
#include "14_engine/tokenizers/steps.h"
#include "common/error.h"
#include "tests/cases.h"
#include "tests/refused.h"

#include <jansson.h>

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

static void a_pattern_finds_what_oniguruma_finds(void **state) {
    const char *const *its = *state;
    assert_string_equal(found_by(its[0], its[1]), its[2]);
}

static const char *refused_text;
static void read_pattern(void) { regex_new("p", "where", refused_text); }

static void a_pattern_that_is_none_is_named(void **state) {
    const char *const *its = *state;
    refused_text = its[0];
    assert_refused(read_pattern, its[1]);
}

/* ------------------------------------------------------------------ steps */

static json_t *json_of(const char *text) {
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!json) fail_msg("no JSON: %s", text);
    return json;
}

static void a_step_does_what_it_says(void **state) {
    const char *const *its = *state, *key = its[1], *text = its[2];
    json_t *json = json_pack("{s: o}", key, json_of(its[0]));
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
    assert_string_equal(got, its[3]);
    pieces_free(&pieces);
    pipeline_free(p);
    json_decref(json);
}

static const char *refused_key;
static void read_refused(void) {
    pipeline_read(&(Pipeline){0}, "p", json_pack("{s: o}", refused_key, json_of(refused_text)));
}

static void a_step_that_cannot_be_is_named(void **state) {
    const char *const *its = *state;
    refused_text = its[0];
    refused_key = its[1];
    assert_refused(read_refused, its[2]);
}

int main(void) {
    static const Check checks[] = {
        CHECK(a_pattern_finds_what_oniguruma_finds), CHECK(a_pattern_that_is_none_is_named),
        CHECK(a_step_does_what_it_says), CHECK(a_step_that_cannot_be_is_named)};
    return run_with_cases("formats/tokenizer_pipeline", 0, NULL, COUNT(checks), checks, NULL, NULL);
}
