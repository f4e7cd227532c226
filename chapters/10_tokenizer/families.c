#include "10_tokenizer/families.h"
#include "common/error.h"

Tokenizer *tokenizer_new(char *file) {
    Tokenizer *tokenizer = allocate(sizeof *tokenizer);
    *tokenizer = (Tokenizer){.merge = bpe_merge, .bos = -1, .eos = -1, .unknown = -1, .adds_bos = true, .file = file};
    return tokenizer;
}

static void find_bytes(Tokenizer *t) {
    const Vocabulary *v = &t->vocabulary;
    memset(t->byte_ids, -1, sizeof t->byte_ids);
    for (int id = 0; id < v->size; id++)
        if (v->tokens[id].length == 1 && v->tokens[id].kind == (t->byte_level ? NORMAL : BYTE))
            t->byte_ids[(unsigned char)v->tokens[id].bytes[0]] = id;
}

void require_bytes(const Tokenizer *t, const char *path) {
    for (int byte = 0; byte < 256; byte++)
        if (t->byte_ids[byte] < 0)
            fail("%s: it has no token for the byte 0x%02X: such a file has one for each", path, byte);
}

const Token *token_of(const Tokenizer *t, int id) {
    if (id < 0 || id >= t->vocabulary.size)
        fail("%d is no token: this vocabulary has those from 0 to %d", id, t->vocabulary.size - 1);
    return &t->vocabulary.tokens[id];
}

int special_id(const Tokenizer *t, const char *name) {
    int id = names_find(&t->vocabulary.special, strlen(name), name);
    return id >= 0 && t->vocabulary.tokens[id].piece_length == (int)strlen(name) ? id : -1;
}

bool begins_with_bos(const Tokenizer *t) { return t->bos >= 0 && t->adds_bos; }

void tokenizer_complete(Tokenizer *t, const char *bos, const char *eos) {
    find_bytes(t);
    vocabulary_sort_names(&t->vocabulary);
    t->bos = special_id(t, bos), t->eos = special_id(t, eos);
    for (int id = t->vocabulary.size - 1; id >= 0; id--)
        if (t->vocabulary.tokens[id].kind == UNKNOWN) t->unknown = id;
}
