#include "10_tokenizer/tokenizer.h"
#include "10_tokenizer/tokenizer_internal.h"
#include "common/error.h"
#include "common/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ opening */

Tokenizer *tokenizer_open(const char *path) {
    char file[4096];
    size_t length;
    if (file_is_folder(path)) {
        if (snprintf(file, sizeof file, "%s/tokenizer.model", path) >= (int)sizeof file)
            fail("%.200s…: the path is too long", path);
        path = file;
    }
    char *bytes = file_read_regular(path, &length);
    if (tiktoken_is(bytes)) return tiktoken_read(path, length, bytes);
    if (!sentencepiece_is(length, bytes))
        fail("%s: it is neither SentencePiece's nor tiktoken's tokenizer.model: build/tokenize "
             "opens other formats",
             path);
    Tokenizer *tokenizer = sentencepiece_read(path, length, bytes);
    if (tokenizer->charsmap_length > 0 || tokenizer->removes_spaces)
        fail("%s: it rewrites characters or removes spaces, as no Llama's does: build/tokenize "
             "opens it",
             path);
    return tokenizer;
}

void tokenizer_close(Tokenizer *t) {
    if (!t) return;
    if (t->hooks.close) t->hooks.close(t);
    vocabulary_free(&t->vocabulary);
    free(t->beside);
    free(t->file);
    free(t->names);
    free(t);
}

/* ------------------------------------------------------------------ what it knows */

int tokenizer_size(const Tokenizer *t) { return t->vocabulary.size; }
int tokenizer_bos(const Tokenizer *t) { return t->bos; }
bool tokenizer_adds_bos(const Tokenizer *t) { return t->bos >= 0 && t->adds_bos; }
int tokenizer_eos(const Tokenizer *t) { return t->eos; }
bool tokenizer_byte_level(const Tokenizer *t) { return t->byte_level; }
int tokenizer_special(const Tokenizer *t, const char *name) { return special_id(t, name); }

const char *tokenizer_bytes(const Tokenizer *t, int id, size_t *length) {
    const Token *token = token_of(t, id);
    *length = (size_t)token->length;
    return token->bytes;
}

const char *tokenizer_piece(const Tokenizer *t, int id, size_t *length) {
    const Token *token = token_of(t, id);
    *length = (size_t)token->piece_length;
    return token->piece;
}

/* ------------------------------------------------------------------ text to ids */

/* A text without special tokens in it. */
static void encode_plain(const Tokenizer *t, size_t length, const char *text, bool first,
                         Ids *ids) {
    if (length == 0) return;
    StringBuffer normal = {0};
    if (t->hooks.normalize) {
        if (!t->hooks.normalize(t, length, text, &normal)) return;
        length = normal.length;
        text = normal.text;
    }
    if (t->byte_level) byte_level_encode(t, length, text, ids);
    else sentencepiece_encode(t, length, text, first, ids);
    free(normal.text);
}

/* Cuts the text at the names of special tokens and encodes each part by itself. `first`: nothing
 * precedes the text. */
static int *encode_parts(const Tokenizer *t, bool first, size_t length, const char *text,
                         bool special, size_t *count) {
    if (length > INT_MAX / 4) fail("a text of %zu bytes is too long: encode it in parts", length);
    const Vocabulary *v = &t->vocabulary;
    Ids ids = {0, 1, xmalloc(sizeof *ids.ids)};
    size_t from = 0;
    if (t->hooks.encode) {
        t->hooks.encode(t, first, length, text, special, &ids);
        from = length;
    }
    for (size_t at = from; (special || t->has_added) && at < length;) {
        int id = names_find(&v->special, length - at, text + at);
        size_t name = id < 0 ? 1 : (size_t)v->tokens[id].piece_length;
        if (id >= 0 && (special || v->tokens[id].kind == ADDED)) {
            encode_plain(t, at - from, text + from, first && from == 0, &ids);
            ids_add(&ids, id);
            from = at + name;
        }
        at += name;
    }
    encode_plain(t, length - from, text + from, first && from == 0, &ids);
    *count = ids.count;
    return ids.ids;
}

int *tokenizer_encode(const Tokenizer *t, size_t length, const char *text, bool special,
                      size_t *count) {
    return encode_parts(t, true, length, text, special, count);
}

int *tokenizer_encode_after(const Tokenizer *t, size_t length, const char *text, size_t *count) {
    return encode_parts(t, false, length, text, false, count);
}

void tokenizer_trim(const Tokenizer *t, int left, int right, const char *text, size_t *from,
                    size_t *to) {
    if (t->hooks.trim) t->hooks.trim(t, left, right, text, from, to);
}

/* ------------------------------------------------------------------ ids to text */

char *tokenizer_decode(const Tokenizer *t, size_t count, const int *ids, size_t *length) {
    StringBuffer (*decode)(const Tokenizer *, size_t, const int *) = t->hooks.decode;
    if (!decode) decode = t->byte_level ? byte_level_decode : sentencepiece_decode;
    StringBuffer out = decode(t, count, ids);
    buffer_add(&out, 0, "");
    out.text[out.length] = '\0';
    *length = out.length;
    return out.text;
}

/* ------------------------------------------------------------------ tokens, for people to read */

/* U+0000 to U+001F and U+007F to U+009F. */
static bool is_control(const char *character) {
    const unsigned char *c = (const unsigned char *)character;
    return c[0] < ' ' || c[0] == 127 || (c[0] == 0xc2 && c[1] < 0xa0);
}

void print_bytes(size_t length, const char *bytes) {
    for (size_t i = 0, n; i < length; i += n) {
        bool valid;
        n = (size_t)utf8_character(length - i, bytes + i, &valid);
        if (bytes[i] == ' ') {
            fputs("▁", stdout);
        } else if (bytes[i] == '\n') {
            fputs("\\n", stdout);
        } else if (bytes[i] == '\t') {
            fputs("\\t", stdout);
        } else if (valid && !is_control(bytes + i)) {
            fwrite(bytes + i, 1, n, stdout);
        } else {
            printf("<0x%02X>", (unsigned char)bytes[i]);
            n = 1;
        }
    }
}

/* Tokens that add nothing to a text are shown by their names. */
void print_token(const Tokenizer *t, int id) {
    size_t length;
    const char *bytes = tokenizer_bytes(t, id, &length);
    if (length == 0) bytes = tokenizer_piece(t, id, &length);
    print_bytes(length, bytes);
}

void print_pieces(const Tokenizer *t, size_t count, const int *ids) {
    const bool colour = isatty(STDOUT_FILENO);
    for (size_t i = 0; i < count; i++) {
        if (colour)
            fputs(i % 2 ? "\033[30;103m" : "\033[30;106m", stdout); /* black on yellow, on cyan */
        else if (i) putchar(' ');
        print_token(t, ids[i]);
        if (colour) fputs("\033[0m", stdout);
    }
    putchar('\n');
}
