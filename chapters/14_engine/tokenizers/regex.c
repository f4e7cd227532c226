#include "14_engine/tokenizers/regex.h"
#include "10_tokenizer/utf8.h"
#include "14_engine/tokenizers/unicode_classes.h"
#include "common/error.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct Regex {
    const char *text; /* found as it stands; NULL: `code` is run */
    void *code;       /* PCRE2's */
    bool by_class;    /* `code` is for a text of one byte for each character */
};

struct Search {
    const Regex *regex;
    const char *text;
    /* by_class: a byte for each character, and where each begins; NULL: all are of ASCII */
    char *classes;
    uint32_t *starts;
    size_t characters;
    void *found, *limits; /* PCRE2's */
    size_t start, length; /* of the part, in bytes of the text */
    size_t first, count;  /* and in what PCRE2 searches */
    /* where the search goes on, and the last match ended; SIZE_MAX: nothing was found yet */
    size_t at, last;
};

/* ------------------------------------------------------------------ translation to PCRE2 */

/* The expression that is read, and its translation. An expression with characters beyond ASCII is
 * for UTF-8 as it stands; every other one is for classes. */
typedef struct {
    const char *path, *where, *whole, *at;
    StringBuffer out;
    bool by_class;
    bool classes, others; /* it has \p{L}, \d or \w; it has characters beyond ASCII */
    bool any_case;        /* it has (?i:…) */
    /* a bit for each open group, the innermost lowest: case does not count in it */
    uint64_t groups;
} Reader;

static _Noreturn void unknown(const Reader *r, const char *what) {
    fail("%s: %s: the pattern \"%.80s\" has %s at byte %td, which is not understood here", r->path,
         r->where, r->whole, what, r->at - r->whole);
}

static void put_words(StringBuffer *out, const char *words) {
    buffer_add(out, strlen(words), words);
}

static void copy_source(Reader *r, size_t length) {
    buffer_add(&r->out, length, r->at);
    r->at += length;
}

static bool ignores_case(const Reader *r) { return r->groups & 1; }

/* ---- sets of characters */

/* Characters of a category, "L" or "Lu", and those with one of these traits; or all others. */
typedef struct {
    const char *category; /* or NULL */
    int traits;
    bool negated;
} Set;

static bool is_in(const Set *set, int class) {
    const UnicodeClass *c = &unicode_classes[class];
    bool in_category =
        set->category && strncmp(c->category, set->category, strlen(set->category)) == 0;
    return (in_category || (c->traits & set->traits)) != set->negated;
}

enum { ASCII = 0x80 }; /* a class's byte is its place behind these */

static void say_bytes(StringBuffer *out, const Set *set) {
    char byte[16];
    for (int b = 0; b < ASCII + unicode_class_count; b++) {
        if (!is_in(set, b < ASCII ? unicode_class((uint32_t)b) : b - ASCII)) continue;
        snprintf(byte, sizeof byte, "\\x%02x", b);
        put_words(out, byte);
    }
}

static void say_points(StringBuffer *out, const Set *set) {
    char range[32];
    for (uint32_t point = 0; point < 0x110000; point++) {
        if (!is_in(set, unicode_class(point))) continue;
        uint32_t first = point;
        while (point + 1 < 0x110000 && is_in(set, unicode_class(point + 1))) point++;
        snprintf(range, sizeof range, "\\x{%x}-\\x{%x}", first, point);
        put_words(out, range);
    }
}

/* In brackets or with brackets of its own, for which (?i: makes no difference. */
static void say_set(Reader *r, bool in_class, Set set) {
    if (!in_class) put_words(&r->out, ignores_case(r) ? "(?-i:[" : "[");
    if (r->by_class) say_bytes(&r->out, &set);
    else say_points(&r->out, &set);
    if (!in_class) put_words(&r->out, ignores_case(r) ? "])" : "]");
}

/* ---- parts of the expression */

/* \p{L}, \P{L}, \p{^L} */
static void read_property(Reader *r, bool in_class) {
    static const char *const known[] = {"L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me",
                                        "N", "Nd", "Nl", "No", "P",  "S",  "Z", "Zs", "C"};
    static const char han[] = "\\p{Han}";
    if (strncmp(r->at, han, sizeof han - 1) == 0) {
        say_set(r, in_class, (Set){.traits = HAN});
        r->at += sizeof han - 1;
        return;
    }
    const char *name = r->at + 2, *end = *name == '{' ? strchr(name, '}') : NULL;
    if (!end) unknown(r, "a property without braces");
    bool negated = (r->at[1] == 'P') != (name[1] == '^');
    name += name[1] == '^' ? 2 : 1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i]) != (size_t)(end - name) ||
            memcmp(known[i], name, (size_t)(end - name)) != 0)
            continue;
        if (in_class && ignores_case(r) && strchr("ult", known[i][1]) && known[i][1])
            unknown(r, "a letter's case in a class of any case");
        r->classes = true;
        say_set(r, in_class, (Set){.category = known[i], .negated = negated});
        r->at = end + 1;
        return;
    }
    unknown(r, "this property");
}

/* \x41, \x{41}, 41: a character by its number, of so many digits. */
static void read_number(Reader *r, const char *digits, int most, const char *behind) {
    int n = 0;
    while (n < most && isxdigit((unsigned char)digits[n])) n++;
    if (n == 0 || strncmp(digits + n, behind, strlen(behind)) != 0)
        unknown(r, "a number that is none");
    char spelled[16];
    snprintf(spelled, sizeof spelled, "\\x{%.*s}", n, digits);
    r->others |= strtol(spelled + strlen("\\x{"), NULL, 16) >= ASCII;
    put_words(&r->out, spelled);
    r->at = digits + n + strlen(behind);
}

static void read_escape(Reader *r, bool in_class) {
    const char c = r->at[1];
    const bool negated = c == 'S' || c == 'D' || c == 'W';
    if (c && strchr(in_class ? "sdwD" : "sdwSDW", c)) {
        Set set = {.negated = negated};
        if (strchr("sS", c)) set.traits = BLANK;
        if (strchr("wW", c)) set.traits = in_class ? WORD : WORD | ONLY_WORD;
        if (strchr("dD", c)) set.category = "Nd";
        r->classes |= !strchr("sS", c);
        say_set(r, in_class, set);
        r->at += 2;
    } else if (c == 'p' || c == 'P') {
        read_property(r, in_class);
    } else if (c == 'x' && r->at[2] == '{') {
        read_number(r, r->at + 3, 6, "}");
    } else if (c == 'x') {
        read_number(r, r->at + 2, 2, "");
    } else if (c == 'u') {
        read_number(r, r->at + 2, 4, "");
    } else if (c && (strchr("rntf ", c) || ispunct((unsigned char)c))) {
        copy_source(r, 2);
    } else {
        unknown(r, "an escape");
    }
}

/* If case does not count, ſ is s, too, and the Kelvin sign is k: their classes. */
static void say_other_case(Reader *r, bool has_s, bool has_k) {
    if (!r->by_class || !ignores_case(r)) return;
    say_bytes(&r->out, &(Set){.traits = (has_s ? CASE_OF_S : 0) | (has_k ? CASE_OF_K : 0)});
}

static void read_character(Reader *r) {
    size_t n;
    bool is_s = *r->at == 's' || *r->at == 'S', is_k = *r->at == 'k' || *r->at == 'K';
    if (utf8_point(r->at, &n) >= ASCII) r->others = true;
    bool has_other_case = ignores_case(r) && (is_s || is_k);
    if (has_other_case) put_words(&r->out, "[");
    copy_source(r, n);
    if (has_other_case) say_other_case(r, is_s, is_k);
    if (has_other_case) put_words(&r->out, "]");
}

/* A class within a class that is no complement stands for its characters: it is written without its
 * brackets. Next to a "-" these would become a range. */
static void open_inner(Reader *r) {
    const bool plain = r->at[1] && !strchr("^:]", r->at[1]);
    if (!plain || r->at[-1] == '-') unknown(r, "such a class in a class");
    r->at++;
}

static void close_inner(Reader *r) {
    if (r->at[1] == '-') unknown(r, "such a class in a class");
    r->at++;
}

/* Whether the letter is in the range that the class goes on with, or is the character that it goes
 * on with. */
static bool goes_on_with(const Reader *r, char letter) {
    char low = *r->at, high = r->at[1] == '-' && r->at[2] && r->at[2] != ']' ? r->at[2] : low;
    return (low <= letter && letter <= high) || (low <= toupper(letter) && toupper(letter) <= high);
}

static void read_class(Reader *r) {
    int inner = 0;
    bool has_s = false, has_k = false;
    copy_source(r, r->at[1] == '^' ? 2 : 1);
    if (*r->at == ']') unknown(r, "an empty class");
    while (*r->at != ']' || inner > 0) {
        if (!*r->at) unknown(r, "a class without an end");
        if (r->at[0] == '&' && r->at[1] == '&') unknown(r, "&&");
        if (*r->at == '[') {
            open_inner(r);
            inner++;
        } else if (*r->at == ']') {
            close_inner(r);
            inner--;
        } else if (*r->at == '\\') {
            read_escape(r, true);
        } else {
            size_t n;
            has_s |= goes_on_with(r, 's');
            has_k |= goes_on_with(r, 'k');
            if (utf8_point(r->at, &n) >= ASCII) r->others = true;
            copy_source(r, n);
        }
    }
    say_other_case(r, has_s, has_k);
    copy_source(r, 1);
}

static void open_group(Reader *r, bool any_case) {
    if (r->groups >> 63) unknown(r, "a group in so many others");
    r->groups = r->groups << 1 | (ignores_case(r) || any_case);
}

static void read_group(Reader *r) {
    static const char *const known[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
    if (r->at[1] == '*') unknown(r, "(*");
    if (r->at[1] != '?') {
        open_group(r, false);
        copy_source(r, 1);
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(r->at, known[i], strlen(known[i])) != 0) continue;
        bool any_case = known[i][2] == 'i';
        r->any_case |= any_case;
        open_group(r, any_case);
        copy_source(r, strlen(known[i]));
        return;
    }
    unknown(r, "a group of this kind");
}

/* {3}, {1,3}, {3,}: Oniguruma has its own meaning for a lazy or possessive one. */
static void read_times(Reader *r) {
    size_t first = strspn(r->at + 1, "0123456789"), n = 1 + first;
    if (r->at[n] == ',') n += 1 + strspn(r->at + n + 1, "0123456789");
    if (first == 0 || first > 4 || n > 11 || r->at[n] != '}') unknown(r, "a brace");
    if (strchr("?+*{", r->at[n + 1]) && r->at[n + 1]) unknown(r, "a repetition of a repetition");
    copy_source(r, n + 1);
}

/* If case does not count, ﬁ is fi to Oniguruma, and ß is ss. */
static void check_case(Reader *r) {
    static const char *const pairs[] = {"ss", "st", "ff", "fi", "fl"};
    for (const char *p = r->whole; r->any_case && *p; p++)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            if (strncasecmp(p, pairs[i], 2) != 0) continue;
            r->at = p;
            unknown(r, "a pair of letters that may be one, in any case,");
        }
    if (r->any_case && r->others) unknown(r, "letters beyond ASCII in any case");
}

/* The translation, which the caller frees. */
static char *translate(Reader *r) {
    while (*r->at) {
        switch (*r->at) {
        case '\\': read_escape(r, false); break;
        case '[': read_class(r); break;
        case '(': read_group(r); break;
        case ')':
            r->groups >>= 1;
            copy_source(r, 1);
            break;
        case '{': read_times(r); break;
        case ']':
        case '}': unknown(r, "a bracket");
        default: read_character(r);
        }
    }
    check_case(r);
    if (r->classes && r->others) unknown(r, "both classes and characters beyond ASCII");
    buffer_add(&r->out, 1, "");
    return r->out.text;
}

/* ------------------------------------------------------------------ PCRE2 */

#ifdef PCRE2

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

const bool has_regex = true;

static void *compile(const char *path, const char *where, const char *expression,
                     const char *spelled, bool by_class) {
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context) fail("out of memory");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int error;
    PCRE2_SIZE place;
    uint32_t options = PCRE2_MULTILINE | (by_class ? 0 : PCRE2_UTF);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)spelled, PCRE2_ZERO_TERMINATED, options, &error, &place, context);
    pcre2_compile_context_free(context);
    PCRE2_UCHAR why[128];
    if (!code) {
        pcre2_get_error_message(error, why, sizeof why);
        fail("%s: %s: the pattern \"%.80s\" is none: %s", path, where, expression, (char *)why);
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where there is no JIT, it is only slower */
    return code;
}

static void matcher_new(Search *search, size_t length) {
    search->found = pcre2_match_data_create(1, NULL);
    search->limits = pcre2_match_context_create(NULL);
    if (!search->found || !search->limits) fail("out of memory");
    /* A run of blanks may take a try for each; an expression that takes many more would never come
     * to an end. */
    pcre2_set_match_limit(search->limits,
                          (uint32_t)(100000 + (length < 100000000 ? 16 * length : 1600000000)));
}

/* The next match, which may be empty. */
static bool match_next(Search *search, size_t *from, size_t *to) {
    const PCRE2_SPTR part =
        (PCRE2_SPTR)(search->classes ? search->classes : search->text) + search->first;
    uint32_t options = PCRE2_NO_UTF_CHECK;
    int count = PCRE2_ERROR_JIT_STACKLIMIT;
    for (int i = 0; i < 2 && count == PCRE2_ERROR_JIT_STACKLIMIT; i++, options |= PCRE2_NO_JIT)
        count = pcre2_match(search->regex->code, part, search->count, search->at, options,
                            search->found, search->limits);
    if (count == PCRE2_ERROR_NOMATCH) return false;
    if (count < 0)
        fail("a pattern of the tokenizer takes too long for this text: PCRE2's error %d", count);
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(search->found);
    *from = ends[0];
    *to = ends[1];
    return true;
}

static void matcher_free(Search *search) {
    pcre2_match_data_free(search->found);
    pcre2_match_context_free(search->limits);
}

static void code_free(void *code) { pcre2_code_free(code); }

#else

const bool has_regex = false;

static void *compile(const char *path, const char *where, const char *, const char *, bool) {
    fail("%s: %s: this program was built without the library PCRE2, which that needs (apt install "
         "libpcre2-dev | dnf install pcre2-devel | brew install pcre2, then make)",
         path, where);
}

/* No regular expression exists: only texts are searched for. */
static void matcher_new(Search *, size_t) {}
static bool match_next(Search *, size_t *, size_t *) { return false; }
static void matcher_free(Search *) {}
static void code_free(void *) {}

#endif

/* ------------------------------------------------------------------ regular expressions */

static Regex *regex_of_code(void *code, bool by_class) {
    Regex *regex = xmalloc(sizeof *regex);
    *regex = (Regex){.code = code, .by_class = by_class};
    return regex;
}

Regex *regex_new(const char *path, const char *where, const char *expression) {
    Reader reader = {path, where, expression, expression, .by_class = true};
    char *spelled = translate(&reader);
    if (reader.others) {
        free(spelled);
        reader = (Reader){path, where, expression, expression, .by_class = false};
        spelled = translate(&reader);
    }
    void *code = compile(path, where, expression, spelled, reader.by_class);
    free(spelled);
    return regex_of_code(code, reader.by_class);
}

/* A run of characters of either set, or if `runs` is false one character. */
static Regex *regex_of_sets(bool runs, int count, const Set sets[count]) {
    StringBuffer out = {0};
    for (int i = 0; i < count; i++) {
        put_words(&out, i > 0 ? "|[" : "[");
        say_bytes(&out, &sets[i]);
        put_words(&out, runs ? "]+" : "]");
    }
    buffer_add(&out, 1, "");
    void *code = compile("tokenizer.json", "a set of characters", out.text, out.text, true);
    free(out.text);
    return regex_of_code(code, true);
}

Regex *regex_of_words(bool signs) {
    const Set sets[] = {{.traits = RUST_WORD}, {.traits = RUST_WORD | BLANK, .negated = true}};
    return regex_of_sets(true, signs ? 2 : 1, sets);
}

Regex *regex_of_digits(void) { return regex_of_sets(false, 1, &(Set){.traits = DIGIT}); }
Regex *regex_of_punctuation(void) { return regex_of_sets(false, 1, &(Set){.traits = PUNCTUATION}); }

Regex *regex_of_text(const char *text) {
    Regex *regex = xmalloc(sizeof *regex);
    *regex = (Regex){.text = text};
    return regex;
}

void regex_free(Regex *regex) {
    if (!regex) return;
    code_free(regex->code);
    free(regex);
}

/* ------------------------------------------------------------------ searching */

static void classify(Search *search, size_t length, const char *text) {
    size_t n, ascii = 0;
    while (ascii < length && (unsigned char)text[ascii] < ASCII) ascii++;
    if (ascii == length) return;
    search->classes = xmalloc(length);
    search->starts = xmalloc(size_mul(length + 1, sizeof *search->starts));
    size_t count = 0;
    for (size_t i = 0; i < length; i += n) {
        int class = (unsigned char)text[i];
        n = 1;
        if (class >= ASCII) class = ASCII + unicode_class(utf8_point(text + i, &n));
        search->starts[count] = (uint32_t)i;
        search->classes[count++] = (char)class;
    }
    search->characters = count;
    search->starts[count] = (uint32_t)length;
}

Search *search_new(const Regex *regex, size_t length, const char *text) {
    Search *search = xmalloc(sizeof *search);
    *search = (Search){.regex = regex, .text = text};
    if (regex->text) return search;
    if (regex->by_class) classify(search, length, text);
    matcher_new(search, length);
    return search;
}

/* The character that begins at this byte. Parts are mostly searched in their order. */
static size_t character_index(const Search *search, size_t byte) {
    size_t i = search->first + search->count;
    if (search->starts[i] > byte) i = 0;
    while (search->starts[i] < byte) i++;
    return i;
}

void search_part(Search *search, size_t start, size_t length) {
    search->start = start;
    search->length = length;
    search->at = 0;
    search->last = SIZE_MAX;
    if (!search->classes) {
        search->first = start;
        search->count = length;
        return;
    }
    size_t first = character_index(search, start);
    search->first = first;
    search->count = 0;
    search->count = character_index(search, start + length) - first;
}

static bool find_text(Search *search, size_t *from, size_t *to) {
    const char *part = search->text + search->start, *wanted = search->regex->text;
    const char *found =
        memmem(part + search->at, search->length - search->at, wanted, strlen(wanted));
    if (!found) return false;
    *from = (size_t)(found - part);
    *to = search->at = *from + strlen(wanted);
    return true;
}

/* The byte of the part at which this character begins. */
static size_t byte_at(const Search *search, size_t character) {
    return search->classes ? search->starts[search->first + character] - search->start : character;
}

bool search_next(Search *search, size_t *from, size_t *to) {
    if (search->regex->text) return find_text(search, from, to);
    while (search->at <= search->count && match_next(search, from, to)) {
        search->at = *to;
        if (*from != *to || *to != search->last) {
            search->last = *to;
            *from = byte_at(search, *from);
            *to = byte_at(search, *to);
            return true;
        }
        size_t n = 1; /* an empty match at the end of the last one: one character on */
        if (!search->regex->by_class && *to < search->length)
            utf8_point(search->text + search->start + *to, &n);
        search->at += n;
    }
    return false;
}

void search_free(Search *search) {
    matcher_free(search);
    free(search->classes);
    free(search->starts);
    free(search);
}
