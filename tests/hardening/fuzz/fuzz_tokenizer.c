/* Broken tokenizer files in every format, for their readers; and with TEXT, any text for the
 * encoders: fuzz_text.c. */
#include "10_tokenizer/tokenizer_internal.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "tests/hardening/fuzz/fuzz.h"

/* A text goes in; ids of the vocabulary come out, and at byte level, where no other steps are, the
 * very bytes. */
static void encode(const Tokenizer *t, size_t length, const char *text, bool special) {
    const bool whole = tokenizer_byte_level(t) && !t->hooks.encode;
    size_t count, decoded, at = 0;
    int *ids = tokenizer_encode(t, length, text, special, &count);
    for (size_t i = 0; i < count; i++) {
        size_t n;
        promise(ids[i] >= 0 && ids[i] < tokenizer_size(t), "an id is one of the vocabulary", "");
        const char *bytes = tokenizer_bytes(t, ids[i], &n);
        if (!whole) continue;
        promise(n <= length - at && memcmp(bytes, text + at, n) == 0,
                "a token's bytes stand in the text", "");
        at += n;
    }
    promise(!whole || at == length, "no byte is lost", "");
    free(tokenizer_decode(t, count, ids, &decoded));
    free(ids);
}

#ifdef TEXT

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const char *const names[] = {"tokenizers/sentencepiece",
                                        "tokenizers/user_defined",
                                        "tokenizers/prepend",
                                        "tokenizers/metaspace",
                                        "tokenizers/tiktoken",
                                        "tokenizers/byte_level",
                                        "foreign_tokenizers/gpt2.json",
                                        "foreign_tokenizers/deepseek.json",
                                        "foreign_tokenizers/o200k.json",
                                        "foreign_tokenizers/llama_normalized.json",
                                        "foreign_tokenizers/llama_few_bytes.json",
                                        "foreign_tokenizers/smollm.json"};
    static Tokenizer *tokenizers[sizeof names / sizeof *names];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        snprintf(path, sizeof path, "tests/golden/%s", names[i]);
        if (!tokenizers[i]) tokenizers[i] = tokenizer_open_any(path);
        encode(tokenizers[i], size, (const char *)bytes, false);
        encode(tokenizers[i], size, (const char *)bytes, true);
    }
    return 0;
}

#else

#include "tests/hardening/fuzz/caught.h"

static Tokenizer *tokenizer;
static char *file;
static size_t file_size;

static void read_and_use(void) {
    static const char text[] = "The llama's 12 3\n  <s>羊驼\xff<|eot_id|>";
    tokenizer = tokenizer_parse_any("fuzz", file_size, file);
    encode(tokenizer, sizeof text - 1, text, false);
    encode(tokenizer, sizeof text - 1, text, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    tokenizer = NULL;
    file = malloc(size + 1);
    file_size = size;
    memcpy(file, bytes, size);
    file[size] = '\0';
    attempt(read_and_use);
    tokenizer_close(tokenizer);
    return 0;
}

#endif
