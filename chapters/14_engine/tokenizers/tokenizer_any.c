#include "14_engine/tokenizers/tokenizer_any.h"
#include "14_engine/tokenizers/pipeline.h"
#include "14_engine/tokenizers/tokenizer_config.h"
#include "14_engine/tokenizers/tokenizer_formats.h"
#include "common/error.h"
#include "common/file.h"
#include "common/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_json(size_t length, const char *bytes) {
    size_t blanks = strspn(bytes, " \t\r\n"); /* a NUL follows the bytes */
    return blanks < length && bytes[blanks] == '{';
}

/* It begins with a number of 32 bits, little endian, that is far from large: the length of the
 * longest token. */
static bool is_llama2c(size_t length, const char *bytes) {
    return length > 4 && bytes[2] == 0 && bytes[3] == 0;
}

Tokenizer *tokenizer_parse_any(const char *path, size_t length, char *bytes) {
    if (is_json(length, bytes)) return hugging_face_read(path, length, bytes);
    if (is_llama2c(length, bytes)) return llama2c_tokenizer_read(path, length, bytes);
    if (tiktoken_is(bytes)) return tiktoken_read(path, length, bytes);
    if (!sentencepiece_is(length, bytes))
        fail("%s: no tokenizer: it is neither SentencePiece's nor tiktoken's tokenizer.model, nor "
             "a tokenizer.json, nor llama2.c's tokenizer.bin",
             path);
    Tokenizer *tokenizer = sentencepiece_read(path, length, bytes);
    if (tokenizer->charsmap_length > 0 || tokenizer->removes_spaces)
        pipeline_uses_charsmap(tokenizer, path);
    return tokenizer;
}

/* The file of a folder that a tokenizer is read from, if there is one. */
static bool find_in_folder(char path[static 4096], const char *folder) {
    static const char *const names[] = {"tokenizer.json", "tokenizer.model", "tokenizer.bin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (snprintf(path, 4096, "%s/%s", folder, names[i]) >= 4096)
            fail("%.200s…: the path is too long", folder);
        if (file_is_there(path)) return true;
    }
    return false;
}

bool has_tokenizer_file(const char *folder) {
    char path[4096];
    return find_in_folder(path, folder);
}

Tokenizer *tokenizer_open_any(const char *path) {
    char file[4096];
    size_t length;
    if (file_is_folder(path)) {
        if (!find_in_folder(file, path))
            fail("%s: it holds neither tokenizer.json nor tokenizer.model nor tokenizer.bin", path);
        path = file;
    }
    if (gguf_is(path)) return gguf_tokenizer(path);
    char *bytes = file_read_regular(path, &length);
    Tokenizer *tokenizer = tokenizer_parse_any(path, length, bytes);
    tokenizer_config_read(tokenizer, path);
    return tokenizer;
}

char *model_directory(const char *model) {
    const char *slash = strrchr(model, '/');
    if (gguf_is(model) || file_is_folder(model)) return xstrndup(model, strlen(model));
    if (!slash) return xstrndup(".", 1);
    return xstrndup(model, slash > model ? (size_t)(slash - model) : 1); /* or it is "/" */
}

Tokenizer *tokenizer_without_tokens(void) {
    Tokenizer *tokenizer = tokenizer_new(NULL);
    vocabulary_sort_names(&tokenizer->vocabulary);
    return tokenizer;
}

bool model_has_tokenizer(const char *model) {
    char *folder = model_directory(model);
    bool has = file_is_folder(folder) ? has_tokenizer_file(folder) : gguf_has_tokenizer(folder);
    free(folder);
    return has;
}

Tokenizer *tokenizer_of_model(const char *model, const char *named) {
    if (named) return tokenizer_open_any(named);
    char *folder = model_directory(model);
    if (file_is_folder(folder) && !has_tokenizer_file(folder))
        fail("%s: no tokenizer.json, tokenizer.model or tokenizer.bin lies %s it: --tokenizer PATH "
             "names one",
             model, file_is_folder(model) ? "in" : "beside");
    Tokenizer *tokenizer = tokenizer_open_any(folder);
    free(folder);
    return tokenizer;
}
