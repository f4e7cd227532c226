#include "10_tokenizer/families.h"
#include "common/error.h"

Tokenizer *tokenizer_new(char *file) {
    Tokenizer *tokenizer = allocate(sizeof *tokenizer);
    *tokenizer = (Tokenizer){.bos = -1, .eos = -1, .adds_bos = true, .file = file};
    return tokenizer;
}

static void find_bytes(Tokenizer *t, const char *path) {
    const Vocabulary *v = &t->vocabulary;
    memset(t->byte_ids, -1, sizeof t->byte_ids);
    for (int id = 0; id < v->size; id++)
        if (v->tokens[id].length == 1 && v->tokens[id].kind == (t->byte_level ? NORMAL : BYTE))
            t->byte_ids[(unsigned char)v->tokens[id].bytes[0]] = id;
    for (int byte = 0; byte < 256; byte++)
        if (t->byte_ids[byte] < 0)
            fail("%s: it has no token for the byte 0x%02X: a Llama's has one for each", path, byte);
}

int special_id(const Tokenizer *t, const char *name) {
    int id = names_find(&t->vocabulary.special, strlen(name), name);
    return id >= 0 && t->vocabulary.tokens[id].piece_length == (int)strlen(name) ? id : -1;
}

void tokenizer_complete(Tokenizer *t, const char *path, const char *bos, const char *eos) {
    find_bytes(t, path);
    vocabulary_sort_names(&t->vocabulary);
    t->bos = special_id(t, bos), t->eos = special_id(t, eos);
}
