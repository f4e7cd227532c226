/* Jinja, part by part: a template writes what jinja2 writes, and what is not known, or is no Jinja
 * at all, is one clear line. Whole conversations are in test_chat.c. */
#include "14_engine/chat/jinja.h"
#include "tests/cases.h"
#include "tests/refused.h"

static const Message hello[] = {{"user", " Hello! "}, {"assistant", "Hi."}, {"user", "Who?"}};

static void a_part_is_jinjas(void **state) {
    const char *const *its = *state, *expected = its[1];
    Rendered got = template_render(&(Template){.path = "x", .source = its[0]}, COUNT(hello), hello);
    if (got.length != strlen(expected) || memcmp(got.letters, expected, got.length) != 0)
        fail_msg("it writes\n%.*s\nnot\n%s", (int)got.length, got.letters, expected);
    rendered_free(&got);
}

static const char *refused_source;
static void render_it(void) {
    template_render(&(Template){.path = "x", .source = refused_source}, COUNT(hello), hello);
}

static void what_is_unknown_or_wrong_is_named(void **state) {
    const char *const *its = *state;
    refused_source = its[0];
    assert_refused(render_it, its[1]);
}

static void depth_has_a_limit(void **) {
    static char deep[4000] = "{{ ";
    memset(deep + 3, '(', sizeof deep - 4);
    refused_source = deep;
    assert_refused(render_it, "over 100 parts stand in each other");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(depth_has_a_limit)};
    static const Check checks[] = {CHECK(a_part_is_jinjas),
                                   CHECK(what_is_unknown_or_wrong_is_named)};
    return run_with_cases("formats/jinja", COUNT(tests), tests, COUNT(checks), checks, NULL, NULL);
}
