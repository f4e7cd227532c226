#define PCRE2_CODE_UNIT_WIDTH 8

#include "10_tokenizer/byte_level.h"
#include "10_tokenizer/stand_ins.h"
#include "common/error.h"

#include <pcre2.h>
#include <stdlib.h>

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

/* What GPT-2's alphabet writes for a byte: printable characters of Latin-1 for themselves, U+0100 and on for the others
 * in their order: 00 to 20, 7F to A0, and AD. Source: bytes_to_unicode of GPT-2. */
static int letter_of_byte(int byte) {
    if (byte <= 0x20) return 0x100 + byte;
    if (byte >= 0x7f && byte <= 0xa0) return 0x121 + byte - 0x7f;
    return byte == 0xad ? 0x143 : byte;
}

static int byte_of_letter(int point) {
    int byte = point < 0x100 ? point : point <= 0x120 ? point - 0x100 : point <= 0x142 ? point - 0x121 + 0x7f : 0xad;
    return letter_of_byte(byte) == point ? byte : -1;
}

int alphabet_bytes(int length, const char *name, char *bytes) {
    int count = 0;
    for (int i = 0, n; i < length; i += n) {
        bool valid;
        n = utf8_character((size_t)(length - i), name + i, &valid);
        int point = n == 1 ? (unsigned char)name[i] : (name[i] & 0x1f) << 6 | (name[i + 1] & 0x3f);
        int byte = valid && n <= 2 ? byte_of_letter(point) : -1;
        if (byte < 0) return -1;
        bytes[count++] = (char)byte;
    }
    return count;
}

int alphabet_name(int length, const char *bytes, char *name) {
    int count = 0;
    for (int i = 0; i < length; i++) {
        int point = letter_of_byte((unsigned char)bytes[i]);
        if (point >= 0x80) name[count++] = (char)(0xc0 | point >> 6);
        name[count++] = (char)(point < 0x80 ? point : 0x80 | (point & 0x3f));
    }
    return count;
}

void byte_level_add(Tokenizer *t, const char *path, Token token, char *room) {
    if (token.kind == NORMAL) {
        int length = alphabet_bytes(token.piece_length, token.piece, room);
        if (length < 0) fail("%s: \"%.80s\" is not written in the byte-level alphabet", path, token.piece);
        token.piece = room, token.piece_length = length;
    }
    token.bytes = token.piece, token.length = token.piece_length;
    if (vocabulary_add(&t->vocabulary, token) < 0) fail("%s: token %d is there twice", path, t->vocabulary.size);
}

static int byte_symbols(const Tokenizer *t, size_t length, const char *word, Symbol symbols[length]) {
    for (size_t i = 0; i < length; i++)
        symbols[i] = (Symbol){.start = (int)i, .length = 1, .id = t->byte_ids[(unsigned char)word[i]]};
    return (int)length;
}

void byte_level_complete(Tokenizer *t) {
    int error;
    PCRE2_SIZE place;
    const PCRE2_SPTR pattern = (PCRE2_SPTR)pcre2_pattern;
    t->split_pattern = pcre2_compile(pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &place, NULL);
    PCRE2_UCHAR why[128];
    pcre2_get_error_message(error, why, sizeof why);
    if (!t->split_pattern) fail("PCRE2 does not take the split pattern: %s", (char *)why);
    pcre2_jit_compile(t->split_pattern, PCRE2_JIT_COMPLETE); /* where there is no JIT, it is only slower */
    t->first_symbols = byte_symbols;
    tokenizer_complete(t, "<|begin_of_text|>", "<|end_of_text|>");
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
    char *copy = with_stand_ins(UNICODE_16, length, words->text + start);
    const PCRE2_SPTR text = copy ? (PCRE2_SPTR)copy : (PCRE2_SPTR)words->text + start;
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(splitter->found);
    for (size_t at = 0; at < length; at = ends[1]) {
        int found = pcre2_match(t->split_pattern, text, length, at, PCRE2_NO_UTF_CHECK, splitter->found,
                                splitter->limits);
        if (found < 0 || ends[0] != at || ends[1] <= at) /* each character is in one of the pattern's branches */
            fail("PCRE2 cannot split the text at byte %zu: error %d", start + at, found);
        words_add(words, start + at, ends[1] - at);
    }
    free(copy);
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
