#define PCRE2_CODE_UNIT_WIDTH 8

#include "10_tokenizer/pattern.h"
#include "10_tokenizer/stand_ins.h"
#include "10_tokenizer/text.h"
#include "10_tokenizer/vocabulary.h"
#include "common/error.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct Pattern {
    const char *text; /* to be found as it stands; NULL: what this finds: */
    pcre2_code *code;
    bool classes; /* it asks for classes of characters: newer ones need stand-ins */
    Unicode unicode;
};

/* ------------------------------------------------------------------ what Oniguruma means, said to PCRE2 */

/* \s is Unicode's White_Space; \w has beside letters, marks and digits what joins words, and circled letters; outside
 * of brackets it has ², ¼ and the like, too. By \p{Han} PCRE2 means other characters since 10.40. */
#define BLANK "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define WORD "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}" \
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
#define ONIGURUMAS_WORD WORD "\\xb2\\xb3\\xb9\\xbc-\\xbe"
#define RUSTS_WORD WORD "\\x{200c}\\x{200d}"

#define HAN_SCRIPT \
    "\\x{2e80}-\\x{2e99}\\x{2e9b}-\\x{2ef3}\\x{2f00}-\\x{2fd5}\\x{3005}\\x{3007}\\x{3021}-\\x{3029}" \
    "\\x{3038}-\\x{303b}\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{f900}-\\x{fa6d}\\x{fa70}-\\x{fad9}" \
    "\\x{16fe2}\\x{16fe3}\\x{16ff0}\\x{16ff1}\\x{20000}-\\x{2a6df}\\x{2a700}-\\x{2b739}\\x{2b740}-\\x{2b81d}" \
    "\\x{2b820}-\\x{2cea1}\\x{2ceb0}-\\x{2ebe0}\\x{2ebf0}-\\x{2ee5d}\\x{2f800}-\\x{2fa1d}" \
    "\\x{30000}-\\x{3134a}\\x{31350}-\\x{323af}"

/* The expression as it is read, and what PCRE2 is given for it. */
typedef struct {
    const char *path, *where, *whole, *at;
    Text out;
    bool classes, others; /* it has \p{L}, \d or \w; it has characters beyond ASCII */
    bool any_case;        /* it has (?i:…) */
} Reader;

static _Noreturn void unknown(const Reader *r, const char *what) {
    fail("%s: %s: the pattern \"%.80s\" has %s at byte %td, which is not understood here", r->path, r->where, r->whole,
         what, r->at - r->whole);
}

static void say(Reader *r, const char *words) { text_add(&r->out, strlen(words), words); }

static void copy(Reader *r, size_t length) {
    text_add(&r->out, length, r->at);
    r->at += length;
}

/* \p{L}, \P{L}, \p{^L} */
static void read_property(Reader *r, bool in_class) {
    static const char *const known[] = {"L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me",
                                        "N", "Nd", "Nl", "No", "P",  "S",  "Z", "Zs", "C"};
    static const char han[] = "\\p{Han}";
    if (strncmp(r->at, han, sizeof han - 1) == 0) {
        say(r, in_class ? HAN_SCRIPT : "[" HAN_SCRIPT "]");
        r->at += sizeof han - 1;
        return;
    }
    const char *name = r->at + 2, *end = *name == '{' ? strchr(name, '}') : NULL;
    if (!end) unknown(r, "a property without braces");
    name += name[1] == '^' ? 2 : 1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == (size_t)(end - name) && memcmp(known[i], name, (size_t)(end - name)) == 0) {
            r->classes = true;
            copy(r, (size_t)(end + 1 - r->at));
            return;
        }
    unknown(r, "this property");
}

/* \x41, \x{41}, 41: a character by its number, of so many digits. */
static void read_number(Reader *r, const char *digits, int most, const char *behind) {
    int n = 0;
    while (n < most && isxdigit((unsigned char)digits[n])) n++;
    if (n == 0 || strncmp(digits + n, behind, strlen(behind)) != 0) unknown(r, "a number that is none");
    char spelled[16];
    snprintf(spelled, sizeof spelled, "\\x{%.*s}", n, digits);
    r->others |= strtol(spelled + strlen("\\x{"), NULL, 16) >= 0x80;
    say(r, spelled);
    r->at = digits + n + strlen(behind);
}

static void read_escape(Reader *r, bool in_class) {
    const char c = r->at[1];
    const char *spelled = c == 's' ? (in_class ? BLANK : "[" BLANK "]") : c == 'd' ? "\\p{Nd}" : c == 'D' ? "\\P{Nd}"
                        : c == 'w' ? (in_class ? WORD : "[" ONIGURUMAS_WORD "]") : in_class ? NULL
                        : c == 'S' ? "[^" BLANK "]" : c == 'W' ? "[^" ONIGURUMAS_WORD "]" : NULL;
    if (spelled) {
        r->classes |= c != 's' && c != 'S';
        say(r, spelled), r->at += 2;
    } else if (c == 'p' || c == 'P') read_property(r, in_class);
    else if (c == 'x' && r->at[2] == '{') read_number(r, r->at + 3, 6, "}");
    else if (c == 'x') read_number(r, r->at + 2, 2, "");
    else if (c == 'u') read_number(r, r->at + 2, 4, "");
    else if (c && (strchr("rntf ", c) || ispunct((unsigned char)c))) copy(r, 2);
    else unknown(r, "an escape");
}

static void read_character(Reader *r) {
    size_t n;
    if (utf8_point(r->at, &n) >= 0x80) r->others = true;
    copy(r, n);
}

/* A class within a class, that is no complement, stands for its characters: it is written without its brackets. Next to
 * a "-" these would become a range. */
static void open_inner(Reader *r) {
    const bool plain = r->at[1] && !strchr("^:]", r->at[1]);
    if (!plain || r->at[-1] == '-') unknown(r, "such a class in a class");
    r->at++;
}

static void close_inner(Reader *r) {
    if (r->at[1] == '-') unknown(r, "such a class in a class");
    r->at++;
}

static void read_class(Reader *r) {
    int inner = 0;
    copy(r, r->at[1] == '^' ? 2 : 1);
    if (*r->at == ']') unknown(r, "an empty class");
    while (*r->at != ']' || inner > 0) {
        if (!*r->at) unknown(r, "a class without an end");
        if (r->at[0] == '&' && r->at[1] == '&') unknown(r, "&&");
        if (*r->at == '[') open_inner(r), inner++;
        else if (*r->at == ']') close_inner(r), inner--;
        else if (*r->at == '\\') read_escape(r, true);
        else read_character(r);
    }
    copy(r, 1);
}

static void read_group(Reader *r) {
    static const char *const known[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
    if (r->at[1] == '*') unknown(r, "(*");
    if (r->at[1] != '?') {
        copy(r, 1);
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(r->at, known[i], strlen(known[i])) == 0) {
            r->any_case |= known[i][2] == 'i';
            copy(r, strlen(known[i]));
            return;
        }
    unknown(r, "a group of this kind");
}

/* {3}, {1,3}, {3,}: of a lazy or possessive one, Oniguruma has views of its own. */
static void read_times(Reader *r) {
    size_t first = strspn(r->at + 1, "0123456789"), n = 1 + first;
    if (r->at[n] == ',') n += 1 + strspn(r->at + n + 1, "0123456789");
    if (first == 0 || first > 4 || n > 11 || r->at[n] != '}') unknown(r, "a brace");
    if (strchr("?+*{", r->at[n + 1]) && r->at[n + 1]) unknown(r, "a repetition of a repetition");
    copy(r, n + 1);
}

/* Where upper and lower case are the same, ﬁ is fi to Oniguruma, and ß is ss. */
static void check_case(Reader *r) {
    static const char *const pairs[] = {"ss", "st", "ff", "fi", "fl"};
    for (const char *p = r->whole; r->any_case && *p; p++)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            if (strncasecmp(p, pairs[i], 2) == 0)
                r->at = p, unknown(r, "a pair of letters that may be one, in any case,");
    if (r->any_case && r->others) unknown(r, "letters beyond ASCII in any case");
}

/* The expression for PCRE2, which the caller frees. */
static char *translate(Reader *r) {
    while (*r->at) {
        switch (*r->at) {
        case '\\': read_escape(r, false); break;
        case '[': read_class(r); break;
        case '(': read_group(r); break;
        case '{': read_times(r); break;
        case ']': case '}': unknown(r, "a bracket");
        default: read_character(r);
        }
    }
    check_case(r);
    if (r->classes && r->others) unknown(r, "both classes and characters beyond ASCII");
    text_add(&r->out, 1, "");
    return r->out.text;
}

static Pattern *compile(const char *path, const char *where, const char *expression, const char *spelled,
                        bool classes) {
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context) fail("out of memory");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int error;
    PCRE2_SIZE place;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)spelled, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_MULTILINE, &error, &place, context);
    pcre2_compile_context_free(context);
    PCRE2_UCHAR why[128];
    if (!code) {
        pcre2_get_error_message(error, why, sizeof why);
        fail("%s: %s: the pattern \"%.80s\" is none: %s", path, where, expression, (char *)why);
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where there is no JIT, it is only slower */
    Pattern *pattern = allocate(sizeof *pattern);
    *pattern = (Pattern){.code = code, .classes = classes};
    return pattern;
}

Pattern *pattern_new(const char *path, const char *where, const char *expression) {
    Reader reader = {path, where, expression, expression, .out = {0}};
    char *spelled = translate(&reader);
    Pattern *pattern = compile(path, where, expression, spelled, reader.classes);
    free(spelled);
    return pattern;
}

Pattern *pattern_of_words(bool signs) {
    const char *spelled = signs ? "[" RUSTS_WORD "]+|[^" RUSTS_WORD BLANK "]+" : "[" RUSTS_WORD "]+";
    return compile("PCRE2", "words", spelled, spelled, true);
}

Pattern *pattern_of_digits(void) {
    Pattern *pattern = compile("PCRE2", "digits", "\\p{N}", "\\p{N}", true);
    pattern->unicode = UNICODE_17;
    return pattern;
}

/* All signs of ASCII, and what was punctuation in Unicode 7. */
Pattern *pattern_of_punctuation(void) {
    static const char spelled[] =
        "[!-/:-@\\[-`{-~\\x{166d}\\x{111c9}]|(?![\\x{2e43}\\x{2e44}\\x{1144b}-\\x{1144f}\\x{1145b}\\x{1145d}"
        "\\x{11660}-\\x{1166c}\\x{11c41}-\\x{11c45}\\x{11c70}\\x{11c71}\\x{1e95e}\\x{1e95f}])\\p{P}";
    Pattern *pattern = compile("PCRE2", "punctuation", spelled, spelled, true);
    pattern->unicode = UNICODE_OLD;
    return pattern;
}

Pattern *pattern_of_text(const char *text) {
    Pattern *pattern = allocate(sizeof *pattern);
    *pattern = (Pattern){.text = text};
    return pattern;
}

void pattern_free(Pattern *pattern) {
    if (!pattern) return;
    pcre2_code_free(pattern->code);
    free(pattern);
}

/* ------------------------------------------------------------------ searching */

struct Search {
    const Pattern *pattern;
    const char *text;
    char *copy; /* with stand-ins; or NULL */
    pcre2_match_data *found;
    pcre2_match_context *limits;
    size_t start, length; /* of the part */
    size_t at, last;      /* where the search goes on, and the last match ended; SIZE_MAX: nothing was found yet */
};

Search *search_new(const Pattern *pattern, size_t length, const char *text) {
    Search *search = allocate(sizeof *search);
    *search = (Search){.pattern = pattern, .text = text};
    if (pattern->text) return search;
    if (pattern->classes) search->copy = with_stand_ins(pattern->unicode, length, text);
    search->found = pcre2_match_data_create(1, NULL), search->limits = pcre2_match_context_create(NULL);
    if (!search->found || !search->limits) fail("out of memory");
    /* A run of blanks may take a try for each; an expression that takes many more would never come to an end. */
    pcre2_set_match_limit(search->limits, (uint32_t)(100000 + (length < 100000000 ? 16 * length : 1600000000)));
    return search;
}

void search_part(Search *search, size_t start, size_t length) {
    search->start = start, search->length = length, search->at = 0, search->last = SIZE_MAX;
}

static bool find_text(Search *search, size_t *from, size_t *to) {
    const char *part = search->text + search->start, *wanted = search->pattern->text;
    const char *found = memmem(part + search->at, search->length - search->at, wanted, strlen(wanted));
    if (!found) return false;
    *from = (size_t)(found - part), *to = search->at = *from + strlen(wanted);
    return true;
}

/* The next match, an empty one, too. */
static bool find_match(Search *search, size_t *from, size_t *to) {
    const PCRE2_SPTR part = (PCRE2_SPTR)(search->copy ? search->copy : search->text) + search->start;
    const pcre2_code *code = search->pattern->code;
    int count = pcre2_match(code, part, search->length, search->at, PCRE2_NO_UTF_CHECK, search->found, search->limits);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT)
        count = pcre2_match(code, part, search->length, search->at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, search->found,
                            search->limits);
    if (count == PCRE2_ERROR_NOMATCH) return false;
    if (count < 0) fail("a pattern of the tokenizer takes too long for this text: PCRE2's error %d", count);
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(search->found);
    *from = ends[0], *to = ends[1];
    return true;
}

bool search_next(Search *search, size_t *from, size_t *to) {
    if (search->pattern->text) return find_text(search, from, to);
    while (search->at <= search->length && find_match(search, from, to)) {
        search->at = *to;
        if (*from != *to || *to != search->last) {
            search->last = *to;
            return true;
        }
        size_t n = 1; /* nothing, right behind the last match: one character on */
        if (*to < search->length) utf8_point(search->text + search->start + *to, &n);
        search->at += n;
    }
    return false;
}

void search_free(Search *search) {
    pcre2_match_data_free(search->found), pcre2_match_context_free(search->limits);
    free(search->copy), free(search);
}
