#define PCRE2_CODE_UNIT_WIDTH 8

#include "10_tokenizer/byte_level.h"
#include "common/error.h"

#include <pcre2.h>

/* ------------------------------------------------------------------ splitting
 *
 * Merges stay within a word, a number of up to three digits, a run of signs or of spaces. A space goes with the word
 * behind it. */

const char split_pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                             "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/* The same for PCRE2, whose \s takes U+180E for a space and is deaf to others without more options: spelled out, it is
 * Unicode's White_Space, as Rust's regex has it, in every version. */
#define S "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
static const char pcre2_pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                                    "| ?[^" S "\\p{L}\\p{N}]+[\\r\\n]*|[" S "]*[\\r\\n]+|[" S "]+(?![^" S "])|[" S "]+";

void byte_level_complete(Tokenizer *t, const char *path) {
    int error;
    PCRE2_SIZE place;
    const PCRE2_SPTR pattern = (PCRE2_SPTR)pcre2_pattern;
    t->split_pattern = pcre2_compile(pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &place, NULL);
    PCRE2_UCHAR why[128];
    pcre2_get_error_message(error, why, sizeof why);
    if (!t->split_pattern) fail("PCRE2 does not take the split pattern: %s", (char *)why);
    pcre2_jit_compile(t->split_pattern, PCRE2_JIT_COMPLETE); /* where there is no JIT, it is only slower */
    tokenizer_complete(t, path, "<|begin_of_text|>", "<|end_of_text|>");
}

void split_pattern_free(void *pattern) { pcre2_code_free(pattern); }

/* ------------------------------------------------------------------ encoding */

/* What PCRE2 wants besides the pattern. A run of blanks is tried once for each of its blanks, and PCRE2's own limit is
 * ten million tries: here it is as high as it goes. */
typedef struct {
    pcre2_match_data *found;
    pcre2_match_context *limits;
} Splitter;

static Splitter splitter_new(void) {
    Splitter splitter = {pcre2_match_data_create(1, NULL), pcre2_match_context_create(NULL)};
    if (!splitter.found || !splitter.limits) fail("out of memory");
    pcre2_set_match_limit(splitter.limits, UINT32_MAX);
    return splitter;
}

static void splitter_free(Splitter *splitter) {
    pcre2_match_data_free(splitter->found), pcre2_match_context_free(splitter->limits);
}

/* A stretch of the text that is UTF-8: word by word, as the pattern splits it. */
static void encode_words(const Tokenizer *t, const Splitter *splitter, Words *words, size_t start, size_t length) {
    const PCRE2_SPTR text = (PCRE2_SPTR)words->text + start;
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(splitter->found);
    for (size_t at = 0; at < length; at = ends[1]) {
        int found = pcre2_match(t->split_pattern, text, length, at, PCRE2_NO_UTF_CHECK, splitter->found,
                                splitter->limits);
        if (found < 0 || ends[0] != at || ends[1] <= at) /* each character is in one of the pattern's branches */
            fail("PCRE2 cannot split the text at byte %zu: error %d", start + at, found);
        words_add(words, start + at, ends[1] - at);
    }
}

/* How many bytes from the beginning are UTF-8, or are none. */
static size_t stretch(size_t length, const char *text, bool valid) {
    bool is;
    size_t i = 0;
    for (int n; i < length; i += (size_t)n) {
        n = utf8_character(length - i, text + i, &is);
        if (is != valid) break;
    }
    return i;
}

/* What is no UTF-8 is a word by itself. */
void byte_level_encode(const Tokenizer *t, size_t length, const char *text, Ids *ids) {
    Splitter splitter = splitter_new();
    Words words = words_new(t, length, text, ids);
    for (size_t at = 0; at < length;) {
        size_t good = stretch(length - at, text + at, true);
        encode_words(t, &splitter, &words, at, good);
        at += good;
        size_t bad = stretch(length - at, text + at, false);
        if (bad > 0) words_add(&words, at, bad);
        at += bad;
    }
    words_free(&words), splitter_free(&splitter);
}
