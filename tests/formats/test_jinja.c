/* Jinja, part by part: a template writes what jinja2 writes, and what is not known, or is no Jinja
 * at all, is one clear line. Whole conversations are in test_chat.c. */
#include "14_engine/chat/jinja.h"
#include "tests/refused.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define EIGHT "1, 1, 1, 1, 1, 1, 1, 1, "
#define SIXTY_FOUR EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT
#define FORTY_LETTERS "abcdefghijklmnopqrstabcdefghijklmnopqrst"

static const Message hello[] = {{"user", " Hello! "}, {"assistant", "Hi."}, {"user", "Who?"}};

/* What jinja2 3.1 writes, with trim_blocks and lstrip_blocks on. */
static void every_part_is_jinjas(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{{ True and not False }}{{ None is none }}{{ nothing is not defined }}{{ - -3 }}"
         "{{ not true and nothing.at }}",
         "TrueTrueTrue3False"},
        {"{{ (messages | first).role }}{{ (messages | last).content }}{{ [] | first is undefined }}"
         "{{ [] | last is defined }}",
         "userWho?TrueFalse"},
        {"{{ 3 | string }}{{ [1, 2,] | count }}{{ 'éb' | count }}{{ 'x' | safe }}{{ ['a', 'b'] | "
         "join }}"
         "{{ nothing | default }}{{ 'a' | d('b') }}{{ messages[0].nothing | d('c') }}{{ 3 | trim "
         "}}",
         "322xabac3"},
        {"{{ 1 is number }}{{ true is number }}{{ 'a' is number }} {{ true is boolean }}{{ 1 is "
         "boolean }}"
         " {{ {} is mapping }}{{ 1 is mapping }}",
         "TrueTrueFalse TrueFalse TrueFalse"},
        {"{{ [] is sequence }}{{ 'a' is iterable }}{{ {} is sequence }}{{ none is iterable }} {{ 3 "
         "is odd }}"
         "{{ 3 is even }}{{ 4 is even }}{{ 4 is odd }}",
         "TrueTrueTrueFalse TrueFalseTrueFalse"},
        {"{{ true is true }}{{ 1 is true }}{{ true is false }}{{ false is false }}{{ 0 is false }}"
         " {{ 3 is string }}{{ 3 is none }}",
         "TrueFalseFalseTrueFalse FalseFalse"},
        {"{{ [1, 2] == [1, 2] }}{{ [1] == [1, 2] }}{{ [[1], 2] == [[2], 2] }} {{ {'a': 1} == {'a': "
         "1} }}"
         "{{ {'a': 1} == {'b': 1} }}{{ {'a': 1} == {'a': 1, 'b': 2} }} {{ none == none }}{{ none "
         "== false }}"
         "{{ 'a' == 'b' }}{{ 'a' == 1 }}",
         "TrueFalseFalse TrueFalseFalse TrueFalseFalseFalse"},
        {"{% set n = namespace() %}{% set m = namespace() %}{{ n == n }}{{ n == m }}{{ 1 if n else "
         "0 }}"
         " {% macro f() %}{% endmacro %}{% macro g() %}{% endmacro %}{{ f == f }}{{ f == g }}"
         "{{ 1 if f else 0 }}",
         "TrueFalse1 TrueFalse1"},
        {"{{ 2 >= 2 }}{{ 3 > 2 }}{{ 2 > 3 }}{{ 2 >= 3 }}{{ 1 <= 0 }}{{ 2 * 3 % 4 }}{{ 3 - 5 }}",
         "TrueTrueFalseFalseFalse2-2"},
        {"{{ 'abc'.endswith('xabc') }}{{ 'abc'.startswith('abcd') }}{{ '' in 'abc' }}{{ 'b' in "
         "{'a': 1} }}"
         "{{ 3 in [1, 2] }}{{ [] in [[]] }}",
         "FalseFalseTrueFalseFalseTrue"},
        {"{{ messages[1:none] | length }}{{ messages[-9:] | length }}{{ messages[2:1] | length }}"
         "{{ messages[-9] is defined }}{{ 'abc'['role'] is defined }}"
         "{{ messages[0].role.nothing is defined }}",
         "230FalseFalseFalse"},
        {"{{ range(2, 1) | length }}{% for i in range(-1, 2) %}{{ i }}{% endfor %}{{ 1 in range(2) "
         "}}",
         "0-101True"},
        {"{{ messages | selectattr('nothing', '==', 'x') | list | length }}"
         "{{ ['a'] | rejectattr('role', 'equalto', 'user') | list | length }}",
         "01"},
        {"{{ ['if', 'else'] | join(' if ') if true else '' }}{{ {'a': 1 if false else 2}['a'] }}"
         "{{ 'it\\'s if' if true }}{{ [1 if true else 2, 3][1] }}",
         "if if else2it's if3"},
        {"{{ false and (nothing[:2] or nothing[::-1] or nothing[0] or -nothing or nothing * 2 or "
         "nothing + 1 or nothing ~ 1 or nothing < 1 or 1 in nothing or 1 not in nothing or {1: 2} "
         "or nothing.f(1) or range('a') or nothing.a.b or nothing | length) }}",
         "False"},
        {"{{ 1 if true else nothing | frobnicate(2, a=3) }}{{ 1 if true else nothing is "
         "frobnicated }}",
         "11"},
        {"{% if false %}{{ 'it\\'s }}' ~ [{'a': ')'}] }}{% set x = \"%}\" -%}  {% macro f(a) %}"
         "{% endmacro %}{%- endif %}x",
         "x"},
        {"a { b {\rc\r\nd} {", "a { b {\nc\nd} {"},
        {"{%- for x in [1, 2] -%}\n {{- x -}} \n {%- else %} {%- endfor -%}\n z", "12z"},
        {"{{ 'a'\n'b' \"c\" }}{{ 'tab\\tquote\\\"' }}", "abctab\tquote\""},
        {"{{ messages[0].get('role') }}{{ messages[0].get('role', 'x') }}{{ ('a' if true) ~ 'b' }}",
         "useruserab"},
        {"{% macro f(a, b=1 + 1) %}{{ a }}{{ b }}{% endmacro %}{{ f(b=3, a='x') }}{{ f('y') }}"
         "{{ f('z', 4) | length }}",
         "x3y22"},
        {"{% for m in messages %}{% if loop.first and m.role == 'user' %}U{% elif not loop.last %}"
         "A{% else %}L{% endif %}{% endfor %}",
         "UAL"},
        {"{{ bos_token is defined }}{{ tools is defined }}{{ raise_exception is defined }}",
         "FalseTrueTrue"},
        {"{{ 'aXbXc'.split('X') | join('') }}{{ 'abc'.replace('x', 'y') }}{{ 'abab' | "
         "replace('ab', '') }}"
         "{{ 'a' in 'cab' and 'd' not in 'cab' }}",
         "abcabcTrue"},
        {"{{ '' | upper }}{{ '' | capitalize }}{{ ' a\\t' | trim | length }}{{ "
         "'\u00a0a\u3000'.strip() }}",
         "1a"},
        {"\n{% if true %}a{% endif %}\n\n  {# b #}\n c", "\na\n c"},
        {"{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 3 < 2 < nothing }}{{ 1 == 1 != 2 > 1 }} {{ 'a' not in "
         "'b' in ['b'] }}"
         "{{ 'a' in 'ab' in ['b'] }}{{ [1, 2] == [] not in 'a' }}",
         "TrueFalseFalseTrue TrueFalseFalse"},
        {"{{ true is odd }}{{ false is even }}{{ true is even }} {{ nothing is sequence }}{{ "
         "nothing is iterable }}"
         "{{ nothing is mapping }}{{ 1 is sequence }}",
         "TrueTrueFalse TrueTrueFalseFalse"},
        {"{{ -1 | string }}{{ -2 is even }}{{ 'a' ~ 1 if true }}{{ 2 * 3 | string | length }} {{ "
         "'' | default('x') }}"
         "{{ '' | default('x', true) }}{{ none | d('y', true) }}",
         "-1Truea12 xy"},
        {"{% set x %}{% endset %}{{ '' in x }}{{ 'a' in x }}{{ x.split(',') | length }}{{ [] | "
         "join | trim == '' }}"
         "{{ x.replace('a', 'b') | length }}{{ nothing | string | length }}",
         "TrueFalse1True00"},
        {"{% for x in messages if none %}{{ x }}{% else %}0{% endfor %}{% for x in [1] if true "
         "%}{{ x }}{% endfor %}",
         "01"},
        {"{% for x in [0, 0] %}{% set y %}{{ loop.index }}{% endset %}{{ y }}{% endfor %}{#- a -#} "
         "{#-#} ",
         "12 "},
        /* What is no Jinja at all may stand where nobody gets to. */
        {"{% if false %}{{ 1 2 }}{% set 3 %}{% for %}{% endfor %}{{ 'a\\x' }}{% elif true %}x{% "
         "endif %}",
         "x"},
        {"{% set found = messages | selectattr('role', '==', 'system') %}{{ not found }}"
         "{{ found is iterable }}{{ found == [] }}{% for m in found %}{% else %}none{% endfor %}"
         "{{ not messages | rejectattr('role', '==', 'user') | list }}"
         "{{ (messages | selectattr('role', '==', 'user') | first).content }}"
         "{{ namespace(a=1) is mapping }}",
         "FalseTrueFalsenoneFalse Hello! False"},
        {"{{ 3 | safe ~ 'a' }}{{ (4 | safe) is string }}"
         "{% if (1 if 2 else 0) %}{{ 3 is odd or true }}{{ 'a' if 3 is odd else 'b' }}{% endif %}",
         "3aTrueTruea"},
        {"{{ a_1 is defined }}{{ _x is defined }}{{ 10 }}", "FalseFalse10"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Rendered got =
            template_render(&(Template){.path = "x", .source = cases[i][0]}, COUNT(hello), hello);
        if (got.length != strlen(cases[i][1]) || memcmp(got.letters, cases[i][1], got.length) != 0)
            fail_msg("%s writes\n%.*s\nnot\n%s", cases[i][0], (int)got.length, got.letters,
                     cases[i][1]);
        rendered_free(&got);
    }
}

static const char *refused_source;
static void render_it(void) {
    template_render(&(Template){.path = "x", .source = refused_source}, COUNT(hello), hello);
}

static void what_is_unknown_or_wrong_is_named(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{{ 'a'.strip(1) }}", "argument 1 should be a text"},
        {"{{ 'a'.endswith() }}", "argument 1 should be a text"},
        {"{{ strftime_now() }}", "argument 1 should be a text"},
        {"{{ strftime_now('----------------------------------------------------------------') }}",
         "so long a form for a date"},
        {"{{ range('a') }}", "argument 1 should be a number"},
        {"{{ range(1, 'a') }}", "argument 2 should be a number"},
        {"{{ 'a,b'.split(',', none) }}", "argument 2 should be a number"},
        {"{{ range() }}", "range(…) is known with one or two numbers"},
        {"{{ range(-99999, 1) }}", "too long a range"},
        {"{{ 'a'.split('') }}", "split('')"},
        {"{{ 'a'.split() }}", ".split(…) is not known here"},
        {"{{ 'a'.replace('a') }}", ".replace(…) is not known here"},
        {"{{ messages.frob() }}", ".frob(…) is not known"},
        {"{{ messages[0].pop('role') }}", ".pop(…) is not known here"},
        {"{{ messages | selectattr('role') }}",
         "selectattr and rejectattr are known with \"equalto\" alone"},
        {"{{ messages | rejectattr('role', 'in', 'user') }}", "known with \"equalto\" alone"},
        {"{{ 'a' | selectattr('role', '==', 'user') }}", "known with \"equalto\" alone"},
        {"{{ 3 | length }}", "the filter length is not known here, or not of this"},
        {"{{ 3 | first }}", "the filter first is not known here, or not of this"},
        {"{{ 3 | list }}", "the filter list is not known here, or not of this"},
        {"{{ 3 | join }}", "the filter join is not known here, or not of this"},
        {"{{ 'a-b'.title() }}", "title of one word"},
        {"{{ f(1, 2, 3, 4, 5, 6, 7, 8, 9) }}", "over 8 arguments"},
        {"{{ f(1 2) }}", "\")\" should stand at \"2) }}\""},
        {"{{ [1 2] }}", "\"]\" should stand at \"2] }}\""},
        {"{{ (1, 2 }}", "\")\" should stand at \"}}\""},
        {"{{ [" SIXTY_FOUR "1] }}", "a list of over 64"},
        {"{{ {'a' 1} }}", "\":\" should stand at \"1} }}\""},
        {"{{ {'a': 1 'b': 2} }}", "\"}\" should stand at"},
        {"{{ 'ab'[0:1] }}", "only of lists pieces are known"},
        {"{{ 'ab'[::-1] }}", "only lists are known backwards"},
        {"{{ messages['a':] }}", "[from:to] of what is no number"},
        {"{{ messages[0 }}", "\"]\" should stand at"},
        {"{{ 'ab'[0] }}", "[…] of what is no list"},
        {"{{ messages[none] }}", "[…] of what is no list"},
        {"{{ none['x'] }}", "there is nothing of which \"x\" could be asked"},
        {"{{ -'a' }}", "\"-\" before what is no number"},
        {"{{ 9223372036854775807 * 2 }}", "too large a number"},
        {"{{ -2147483647 * 4294967296 - 4294967297 }}", "too large a number"},
        {"{{ 'a' * 2 }}", "no numbers to multiply"},
        {"{{ 2 % 'a' }}", "no numbers to multiply or divide"},
        {"{{ 2 - 'a' }}", "neither two texts nor two numbers"},
        {"{{ 'a' - 'a' }}", "neither two texts"},
        {"{{ 1 < 'a' }}", "no number is larger or smaller"},
        {"{{ 'a' >= 1 }}", "no number is larger or smaller"},
        {"{{ 1 in 3 }}", "\"in\" what is neither text, list nor object"},
        {"{{ 'a\\", "a text without its end"},
        {"{{ 'a' b if true }}", "\"}}\" should stand at \"b if true }}\""},
        {"{{ .a }}", "a name should stand at \".a }}\""},
        {"{{ messages.3 }}", "a name should stand at \"3 }}\""},
        {"{% macro f %}{% endmacro %}{{ f() }}", "a macro without parentheses"},
        {"{% macro f(a b) %}{% endmacro %}{{ f() }}", "\")\" should stand at \"b) %}{% endmacro"},
        {"{% for x in [] %}{% else %}", "a for without its endfor"},
        {"{% if false %}{% else %}", "an if without its end"},
        {"{{ messages | selectattr('role', '==', 'user') | length }}",
         "the filter length is not known here, or not of this"},
        {"{% set s = messages | selectattr('role', '==', 'user') %}{{ s | first is defined }}"
         "{% for m in s %}{% endfor %}",
         "what selectattr or rejectattr found can be used once"},
        {"{{ (messages | selectattr('role', '==', 'user'))[0] }}", "[…] of what is no list"},
        {"{{ namespace(a=1).get('a') }}", ".get(…) is not known here"},
        {"{{ namespace(a=1) is iterable }}", "is a loop or a namespace a sequence?"},
        {"{{ [1] | safe }}", "a list or an object is to be printed"},
        {"{{ 1 is number is true }}", "behind a test \"is true }}\" cannot stand"},
        {"{{ 1 is number in [true] }}", "behind a test \"in [true] }}\" cannot stand"},
        {"{{ 4 is even['a'] }}", "behind a test \"['a'] }}\" cannot stand"},
        {"{{ 1 is defined if true }}", "behind a test \"if true }}\" cannot stand"},
        {"{{ 'a' | trim.b }}", "a name with a point in it"},
        {"{% if 1 if 2 else 3 %}{% endif %}", "\"%}\" should stand at \"if 2 else 3"},
        {"{% if 0 %}{% elif 1 if 2 else 3 %}{% endif %}", "\"%}\" should stand at \"if 2 else 3"},
        {"{{ 'a' | }}", "a name should stand at \"}}\""},
        {"{{ 'a' is }}", "a name should stand at \"}}\""},
        {"{% " FORTY_LETTERS "_and_more %}", "{% " FORTY_LETTERS " %} is not known here"},
        {"{% set n = namespace(x='a') %}{% for i in range(20) %}{% set n.x = n.x + n.x %}{% endfor "
         "%}"
         "{% for i in range(17) %}{{ n.x }}{% endfor %}",
         "it writes more than a conversation can be"},
        {"{% set n = namespace(x='a') %}{% for i in range(16) %}{% set n.x = n.x + n.x %}{% endfor "
         "%}"
         "{% for i in range(2000) %}{% if 'b' in n.x %}{% endif %}{% endfor %}",
         "it would take too long for a conversation"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        refused_source = cases[i][0];
        assert_refused(render_it, cases[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_jinjas),
        cmocka_unit_test(what_is_unknown_or_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
