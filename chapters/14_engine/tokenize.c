/* tokenize: the tokenizer of any Llama, from the command line: text to ids, and back. */
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_ids(size_t count, const int *ids) {
    for (size_t i = 0; i < count; i++) printf(i ? " %d" : "%d", ids[i]);
    putchar('\n');
}

typedef struct {
    const char *model, *encode, *encode_file, *decode, *bos, *special, *pieces, *info;
} Request;

static void print_encoded(const Tokenizer *t, const Request *r) {
    size_t length = r->encode ? strlen(r->encode) : 0, count;
    char *read = r->encode ? NULL : file_read(r->encode_file, &length);
    int *ids = tokenizer_encode(t, length, r->encode ? r->encode : read, r->special, &count);
    if (r->bos) {
        if (tokenizer_bos(t) < 0)
            fail("%s: it has no token for the beginning: leave --bos out", r->model);
        ids = xrealloc(ids, (count + 1) * sizeof *ids);
        memmove(ids + 1, ids, count++ * sizeof *ids);
        ids[0] = tokenizer_bos(t);
    }
    if (r->pieces) print_pieces(t, count, ids);
    else print_ids(count, ids);
    free(ids);
    free(read);
}

/* "1 15043 3186", with commas if one likes. */
static int *parse_ids(const char *text, size_t *count) {
    static const char between[] = " ,\n";
    int *ids = xmalloc((strlen(text) / 2 + 1) * sizeof *ids);
    for (*count = 0; *(text += strspn(text, between));) {
        char *end;
        errno = 0;
        long id = strtol(text, &end, 10);
        if (!isdigit((unsigned char)*text) || !strchr(between, *end) || errno || id > INT_MAX)
            fail("--decode: \"%.20s\" is no token: write \"1 2 3\"", text);
        ids[(*count)++] = (int)id;
        text = end;
    }
    return ids;
}

static void print_decoded(const Tokenizer *t, const char *text) {
    size_t count, length;
    char *read = strcmp(text, "-") == 0 ? file_read(text, &length) : NULL;
    int *ids = parse_ids(read ? read : text, &count);
    char *decoded = tokenizer_decode(t, count, ids, &length);
    fwrite(decoded, 1, length, stdout);
    putchar('\n');
    free(ids);
    free(decoded);
    free(read);
}

static void print_info(const Tokenizer *t, const char *path) {
    const char *family =
        tokenizer_byte_level(t) ? "byte level, as Llama 3" : "SentencePiece, as Llama 1 and 2";
    printf("%s: %s, %d tokens\n", path, family, tokenizer_size(t));
    const struct {
        const char *name;
        int id;
    } ends[] = {{"beginning", tokenizer_bos(t)}, {"end", tokenizer_eos(t)}};
    for (int i = 0; i < 2; i++) {
        printf("%s: ", ends[i].name);
        if (ends[i].id < 0) puts("none");
        if (ends[i].id < 0) continue;
        print_token(t, ends[i].id);
        printf(", %d\n", ends[i].id);
    }
}

static void use_model(const Request *r) {
    Tokenizer *t = tokenizer_open_any(r->model);
    if (r->info) print_info(t, r->model);
    if (r->encode || r->encode_file) print_encoded(t, r);
    if (r->decode) print_decoded(t, r->decode);
    tokenizer_close(t);
}

int main(int argc, char **argv) {
    Request r = {0};
    const Option options[] = {
        {"model", "PATH",
         "the tokenizer of a model's folder or .gguf, or a tokenizer.model, .json or .bin",
         &r.model},
        {"encode", "TEXT", "the ids of this text", &r.encode},
        {"encode-file", "FILE", "the ids of what is in this file; - is standard input",
         &r.encode_file},
        {"bos", NULL, "with the token of the beginning before them", &r.bos},
        {"special", NULL, "names of special tokens in the text are those tokens", &r.special},
        {"pieces", NULL, "the pieces in place of the ids: ▁ is a space", &r.pieces},
        {"decode", "\"1 2 3\"", "the text of these ids; - reads them from standard input",
         &r.decode},
        {"info", NULL, "the family and the size", &r.info},
    };
    only_options(argc, argv,
                 "--model PATH --encode TEXT | --encode-file FILE | --decode IDS | --info",
                 "The tokenizer of any Llama: text to ids, and back.",
                 sizeof options / sizeof *options, options);
    const bool encodes = r.encode || r.encode_file, does = encodes || r.decode || r.info;
    if (!r.model && does) usage_error("--encode, --encode-file, --decode and --info need --model");
    if (!encodes && (r.bos || r.special || r.pieces))
        usage_error("--bos, --special and --pieces need --encode or --encode-file");
    if (!!r.encode + !!r.encode_file + !!r.decode + !!r.info > 1)
        usage_error("--encode, --encode-file, --decode, --info: one of them at a time");
    if (r.model && !does) usage_error("--model needs --encode, --encode-file, --decode or --info");
    if (!r.model) usage_error("name a tokenizer with --model, and what it is to do");
    use_model(&r);
    return 0;
}
