/* Chapter 10, the tokenizers: text becomes numbers. README.md is the lesson; a section here is a section there.
 * With --model, the tokenizer of a model's folder: its ids, its pieces, its text. */
#include "10_tokenizer/tokenizer.h"
#include "10_tokenizer/train.h"
#include "10_tokenizer/vocabulary.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- pieces, for people */

/* U+0000 to U+001F and U+007F to U+009F. */
static bool is_control(const char *character) {
    const unsigned char *c = (const unsigned char *)character;
    return c[0] < ' ' || c[0] == 127 || (c[0] == 0xc2 && c[1] < 0xa0);
}

/* A token's bytes as they can be shown: ▁ for a space, \n for a line's end, <0x80> for what is no character. */
static void print_bytes(size_t length, const char *bytes) {
    int n;
    for (size_t i = 0; i < length; i += (size_t)n) {
        bool valid;
        n = utf8_character(length - i, bytes + i, &valid);
        if (bytes[i] == ' ') fputs("▁", stdout);
        else if (bytes[i] == '\n') fputs("\\n", stdout);
        else if (bytes[i] == '\t') fputs("\\t", stdout);
        else if (valid && !is_control(bytes + i)) fwrite(bytes + i, 1, (size_t)n, stdout);
        else printf("<0x%02X>", (unsigned char)bytes[i]), n = 1;
    }
}

static void print_token(const Tokenizer *t, int id) {
    size_t length;
    const char *bytes = tokenizer_bytes(t, id, &length);
    if (length == 0) bytes = tokenizer_piece(t, id, &length);
    print_bytes(length, bytes);
}

static void print_pieces(const Tokenizer *t, size_t count, const int *ids) {
    const bool colour = isatty(STDOUT_FILENO);
    for (size_t i = 0; i < count; i++) {
        if (colour) fputs(i % 2 ? "\033[30;103m" : "\033[30;106m", stdout); /* black on yellow, on cyan */
        else if (i) putchar(' ');
        print_token(t, ids[i]);
        if (colour) fputs("\033[0m", stdout);
    }
    putchar('\n');
}

/* ---- --model */

static void print_ids(size_t count, const int *ids) {
    for (size_t i = 0; i < count; i++) printf(i ? " %d" : "%d", ids[i]);
    putchar('\n');
}

typedef struct {
    const char *model, *encode, *encode_file, *decode, *bos, *special, *pieces, *info, *data;
} Request;

static void encode(const Tokenizer *t, const Request *r) {
    size_t length = r->encode ? strlen(r->encode) : 0, count;
    char *read = r->encode ? NULL : file_read(r->encode_file, &length);
    int *ids = tokenizer_encode(t, length, r->encode ? r->encode : read, r->special, &count);
    if (r->bos) {
        if (tokenizer_bos(t) < 0) fail("%s: it has no token for the beginning: leave --bos out", r->model);
        ids = reallocate(ids, (count + 1) * sizeof *ids);
        memmove(ids + 1, ids, count++ * sizeof *ids);
        ids[0] = tokenizer_bos(t);
    }
    if (r->pieces) print_pieces(t, count, ids);
    else print_ids(count, ids);
    free(ids), free(read);
}

/* "1 15043 3186", with commas if one likes. */
static int *parse_ids(const char *text, size_t *count) {
    static const char between[] = " ,\n";
    int *ids = allocate((strlen(text) / 2 + 1) * sizeof *ids);
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

static void decode(const Tokenizer *t, const char *text) {
    size_t count, length;
    int *ids = parse_ids(text, &count);
    char *decoded = tokenizer_decode(t, count, ids, &length);
    fwrite(decoded, 1, length, stdout);
    putchar('\n');
    free(ids), free(decoded);
}

static void print_info(const Tokenizer *t, const char *path) {
    const char *family = tokenizer_byte_level(t) ? "byte level, as Llama 3" : "SentencePiece, as Llama 1 and 2";
    printf("%s: %s, %d tokens\n", path, family, tokenizer_size(t));
    const struct {
        const char *name;
        int id;
    } ends[] = {{"beginning", tokenizer_bos(t)}, {"end", tokenizer_eos(t)}};
    for (int i = 0; i < 2; i++) {
        printf("%s: ", ends[i].name);
        if (ends[i].id < 0) puts("none");
        else print_token(t, ends[i].id), printf(", %d\n", ends[i].id);
    }
}

static void use_model(const Request *r) {
    Tokenizer *t = tokenizer_open(r->model);
    if (r->info) print_info(t, r->model);
    if (r->encode || r->encode_file) encode(t, r);
    if (r->decode) decode(t, r->decode);
    tokenizer_close(t);
}

/* ---- without --model: a BPE by hand */

static const char paragraph[] =
    " the llama knows the hill and the hill knows the llama the little llama calls and the tall llama calls"
    " all the llamas all the llamas call and the hill calls";
enum { MERGES = 14, LETTERS = 128, MOST = LETTERS + MERGES };

/* A vocabulary in the making: each token's text, in which a space is ▁. */
typedef struct {
    int V;
    char text[MOST][32];
} Trainer;

static bool begins_a_word(const char *text) { return strncmp(text, "▁", strlen("▁")) == 0; }

/* The pair that is there most often, of equals the first; but a word's space stands before it, and nothing merges with
 * the space of the next word. */
static int best_pair(const Trainer *t, int counts[t->V][t->V], int *left, int *right) {
    int best = 0;
    for (int a = 0; a < t->V; a++)
        for (int b = 0; b < t->V; b++)
            if (counts[a][b] > best && !begins_a_word(t->text[b])) best = counts[a][b], *left = a, *right = b;
    return best;
}

static void print_sequence(const Trainer *t, int n, const int ids[n]) {
    for (int i = 0; i < n; i++) printf(i ? " %s" : "%s", t->text[ids[i]]);
    putchar('\n');
}

static int apply(int n, int ids[n], int left, int right, int merged) {
    int out[n + 1], count = merge_pair(n, out, ids, left, right, merged);
    memcpy(ids, out, (size_t)count * sizeof *ids);
    return count;
}

static int letters_of(const char *text, int ids[]) {
    int n = 0;
    for (; text[n]; n++) ids[n] = text[n];
    return n;
}

static void learn(Trainer *t, int pairs[MERGES][2]) {
    static int counts[MOST * MOST], ids[sizeof paragraph];
    Table table = {0};
    int n = letters_of(paragraph, ids);
    for (int c = 0; c < LETTERS; c++) t->text[c][0] = (char)c;
    strcpy(t->text[' '], "▁");
    t->V = LETTERS;
    printf("%d letters and spaces:%s\n\n", n, paragraph);
    table_row(&table, "token|<left|<right|<together|times|tokens left");
    for (int m = 0; m < MERGES; m++, t->V++) {
        int(*pair)[t->V] = (void *)counts, left = 0, right = 0;
        pair_counts(n, t->V, pair, ids);
        int times = best_pair(t, pair, &left, &right);
        n = apply(n, ids, left, right, t->V);
        strcat(strcpy(t->text[t->V], t->text[left]), t->text[right]);
        pairs[m][0] = left, pairs[m][1] = right;
        table_row(&table, "%d|%s|%s|%s|%d|%d", t->V, t->text[left], t->text[right], t->text[t->V], times, n);
    }
    table_print(&table, stdout);
}

/* What one might take for the same: at each place, the longest token that the rest begins with. */
static int longest_match(const Trainer *t, const char *text, int ids[]) {
    int n = 0;
    for (; *text; text += strlen(t->text[ids[n++]])) {
        ids[n] = 0;
        for (int id = 1; id < t->V; id++)
            if (strncmp(text, t->text[id], strlen(t->text[id])) == 0 && strlen(t->text[id]) > strlen(t->text[ids[n]]))
                ids[n] = id;
    }
    return n;
}

static void train_by_hand(void) {
    static Trainer t;
    int pairs[MERGES][2], ids[16];
    learn(&t, pairs);

    printf("\nA word that was not there, by the same merges in the same order:\n");
    int n = letters_of(" allama", ids);
    print_sequence(&t, n, ids);
    for (int m = 0; m < MERGES; m++) {
        int before = n;
        n = apply(n, ids, pairs[m][0], pairs[m][1], LETTERS + m);
        if (n < before) print_sequence(&t, n, ids);
    }
    printf("\nThe same word, the longest token first:\n");
    print_sequence(&t, longest_match(&t, "▁allama", ids), ids);
}

/* ---- the vocabularies at hand */

enum { FAMILIES = 2 };
static const char *const family_names[FAMILIES] = {"SentencePiece", "byte level"};
static const char *const family_folders[FAMILIES] = {ROOT "/tests/golden/tokenizers/sentencepiece",
                                                     ROOT "/tests/golden/tokenizers/tiktoken"};

static void show(Tokenizer *const families[FAMILIES], const char *text) {
    for (int f = 0; f < FAMILIES; f++) {
        size_t count;
        int *ids = tokenizer_encode(families[f], strlen(text), text, false, &count);
        printf("%-13s  %3zu  ", family_names[f], count);
        print_pieces(families[f], count, ids);
        free(ids);
    }
}

static void show_ids(Tokenizer *const families[FAMILIES], const char *text) {
    printf("%s\n", text);
    show(families, text);
    for (int f = 0; f < FAMILIES; f++) {
        size_t count;
        int *ids = tokenizer_encode(families[f], strlen(text), text, false, &count);
        printf("%-13s  ids  ", family_names[f]);
        print_ids(count, ids);
        free(ids);
    }
}

static void show_all(Tokenizer *const families[FAMILIES], int count, const char *const texts[count]) {
    for (int i = 0; i < count; i++) {
        putchar('"');
        print_bytes(strlen(texts[i]), texts[i]);
        puts("\"");
        show(families, texts[i]);
    }
}

/* Texts that the vocabularies were not trained on, though on texts of their kind. */
static const struct {
    const char *name, *text;
} samples[] = {
    {"English", "The old woman sat down by the river and watched the llamas drink. She had walked all morning, and the "
                "road over the mountain was long. When the children came, she told them what she had seen on the other side."},
    {"Chinese", "老人坐在河边看羊驼喝水。她走了一个早上，山路很远。孩子们来的时候，她告诉他们在山的另一边看到了什么。"},
    {"code", "int largest(int n, const float x[n]) {\n    int best = 0;\n    for (int i = 1; i < n; i++) {\n"
             "        if (x[i] > x[best]) best = i;\n    }\n    return best;\n}\n"},
};

static void bytes_per_token(Tokenizer *const families[FAMILIES], const char *data) {
    Table table = {0};
    Output output = {0};
    if (data) output = data_open(data, "10_bytes_per_token", "text, bytes a token: SentencePiece, byte level");
    table_row(&table, "text|bytes|characters|SentencePiece tokens|bytes a token|byte-level tokens|bytes a token");
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        size_t bytes = strlen(samples[s].text), characters = 0, count[FAMILIES];
        for (size_t i = 0; i < bytes; i++) characters += ((unsigned char)samples[s].text[i] & 0xc0) != 0x80;
        for (int f = 0; f < FAMILIES; f++) free(tokenizer_encode(families[f], bytes, samples[s].text, false, &count[f]));
        double each[FAMILIES] = {(double)bytes / (double)count[0], (double)bytes / (double)count[1]};
        table_row(&table, "%s|%zu|%zu|%zu|%.2f|%zu|%.2f", samples[s].name, bytes, characters, count[0], each[0],
                  count[1], each[1]);
        if (data) fprintf(output.file, "%s %.3f %.3f\n", samples[s].name, each[0], each[1]);
    }
    table_print(&table, stdout);
    if (data) output_close(&output);
}

static void show_special(const Tokenizer *t, const char *text) {
    size_t count;
    for (int special = 0; special < 2; special++) {
        int *ids = tokenizer_encode(t, strlen(text), text, special, &count);
        printf("%-10s  ", special ? "as tokens" : "as text");
        print_pieces(t, count, ids);
        free(ids);
    }
}

/* What the first tokens of a text are decoded to: those of 😀, one after the other. */
static void show_growing(const Tokenizer *t, const char *name) {
    size_t count, length;
    const char text[] = "hi😀";
    int *ids = tokenizer_encode(t, strlen(text), text, false, &count);
    for (size_t n = 1; n <= count; n++) {
        char *decoded = tokenizer_decode(t, n, ids, &length);
        printf("%-13s  %s  ", name, decoded);
        print_pieces(t, n, ids);
        free(decoded);
    }
    free(ids);
}

static void demonstrate(const char *data) {
    Tokenizer *families[FAMILIES];
    for (int f = 0; f < FAMILIES; f++) families[f] = tokenizer_open(family_folders[f]);
    section("A BPE by hand");
    train_by_hand();
    section("Two families, one text");
    show_ids(families, "The llama's wool is soft. 羊驼 😀");
    section("Bytes per token");
    bytes_per_token(families, data);
    section("Digits and spaces");
    show_all(families, 5, (const char *const[]){"1234567", " 1234567", "the llama", "the  llama", "    return 0;\n"});
    section("Half a character");
    for (int f = 0; f < FAMILIES; f++) show_growing(families[f], family_names[f]);
    section("Special text");
    show_special(families[0], "<s>the llama</s>");
    show_special(families[1], "<|begin_of_text|>the llama<|eot_id|>");
    for (int f = 0; f < FAMILIES; f++) tokenizer_close(families[f]);
}

int main(int argc, char **argv) {
    Request r = {0};
    const Option options[] = {
        {"model", "PATH", "the tokenizer of a model's folder, or a tokenizer.model, .json or .bin", &r.model},
        {"encode", "TEXT", "the ids of this text", &r.encode},
        {"encode-file", "FILE", "the ids of what is in this file; - is standard input", &r.encode_file},
        {"bos", NULL, "with the token of the beginning before them", &r.bos},
        {"special", NULL, "names of special tokens in the text are those tokens", &r.special},
        {"pieces", NULL, "the pieces in place of the ids: ▁ is a space", &r.pieces},
        {"decode", "\"1 2 3\"", "the text of these ids", &r.decode},
        {"info", NULL, "the family and the size", &r.info},
        {"data", "DIR", "write there what the figures are drawn from", &r.data},
    };
    int rest = parse_options(argc, argv, "[--model PATH [--encode TEXT | --encode-file FILE | --decode IDS | --info]]",
                             "Chapter 10, the tokenizers: text to the ids of any Llama, and back. Without --model, a "
                             "demonstration.",
                             sizeof options / sizeof *options, options);
    if (rest < argc) usage_error("%s is not understood", argv[rest]);
    const bool encodes = r.encode || r.encode_file, does = encodes || r.decode || r.info;
    if (!r.model && does) usage_error("--encode, --encode-file, --decode and --info need --model");
    if (r.data && r.model) usage_error("--data is for the demonstration, without --model");
    if (!encodes && (r.bos || r.special || r.pieces)) usage_error("--bos, --special and --pieces need --encode or --encode-file");
    if (r.encode && r.encode_file) usage_error("--encode or --encode-file, not both");
    if (r.model && !does) usage_error("--model needs --encode, --encode-file, --decode or --info");
    if (r.model) use_model(&r);
    else demonstrate(r.data);
    return 0;
}
