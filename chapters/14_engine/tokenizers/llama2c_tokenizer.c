#include "10_tokenizer/tokenizer_internal.h"
#include "14_engine/tokenizers/tokenizer_formats.h"
#include "common/error.h"
#include "common/file.h"

#include <math.h>

/* tokenizer.bin of llama2.c: the length of the longest token, then each token: its score, its
 * length, its bytes with spaces as spaces. How many there are is not said: it ends with the last.
 * Source: tokenizer.py and run.c of llama2.c. */

/* The name as other files have it: with ▁ for the spaces, and <s> for "\n<s>\n". Returns its
 * length. */
static int spell_name(int id, int length, const char *bytes, char *to) {
    char *end = to;
    for (int i = 0; i < length; i++) {
        if (bytes[i] == ' ') end = put(end, sizeof SPACE_MARK - 1, SPACE_MARK);
        else if (bytes[i] != '\n' || (id != 1 && id != 2)) *end++ = bytes[i];
    }
    return (int)(end - to);
}

Tokenizer *llama2c_tokenizer_read(const char *path, size_t length, char *bytes) {
    enum { HEADER = 4, BEFORE = 8, FIRST_BYTE = 3, LAST_BYTE = FIRST_BYTE + 255 };
    Tokenizer *t = tokenizer_new(bytes);
    char *room = t->names = xmalloc(4 * length);
    for (size_t at = HEADER; at < length;) {
        int id = t->vocabulary.size;
        if (length - at < BEFORE || file_u32(bytes + at + 4) > length - at - BEFORE)
            fail("%s: token %d ends behind the file's end: is it a tokenizer.bin, and complete?",
                 path, id);
        uint32_t score_bits = file_u32(bytes + at), size = file_u32(bytes + at + 4);
        if (size > MOST_PIECE) fail("%s: token %d is too long", path, id);
        TokenType kind = id == 0           ? UNKNOWN
                         : id < FIRST_BYTE ? CONTROL
                         : id <= LAST_BYTE ? BYTE
                                           : NORMAL;
        Token token = {.piece = room, .kind = kind};
        token.piece_length = spell_name(id, (int)size, bytes + at + BEFORE, room);
        room += token.piece_length;
        memcpy(&token.rank, &score_bits, sizeof token.rank);
        if (isnan(token.rank)) fail("%s: the score of token %d is no number", path, id);
        token.rank = -token.rank;
        sentencepiece_add(t, path, token, room);
        room += t->vocabulary.tokens[id].length;
        at += BEFORE + size;
    }
    t->prepend_scheme = PREPEND_ALWAYS;
    t->drops_prefix = true;
    sentencepiece_complete(t);
    require_bytes(t, path);
    return t;
}
