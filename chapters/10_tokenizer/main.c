/* The tokenizer: text becomes numbers. README.md is the lesson; a section here is a section
 * there. */
#include "10_tokenizer/bpe_train.h"
#include "10_tokenizer/tokenizer.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/sentence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL ROOT "/common/stories/model"
#define STORIES ROOT "/chapters/10_tokenizer/stories.txt"

/* ---- the sentence, in the model's own vocabulary */

static void the_sentence(const Tokenizer *t) {
    enum { A_LINE = 10 };
    Sentence s = sentence_open();
    const char *story = safetensors_metadata(&s.file, "story");
    size_t count, length;
    int *ids = tokenizer_encode(t, strlen(story), story, false, &count);
    bool same = (int)count == s.T - 1 && memcmp(ids, s.ids + 1, count * sizeof *ids) == 0;
    section("The sentence");
    for (int first = 0; first < s.T; first += A_LINE) {
        char numbers[256] = "id", tokens[256] = "token";
        Table table = {0};
        for (int i = first; i < s.T && i < first + A_LINE; i++) {
            const char *bytes = tokenizer_bytes(t, s.ids[i], &length);
            sprintf(numbers + strlen(numbers), "|%d", s.ids[i]);
            sprintf(tokens + strlen(tokens), "|%s%s", length && *bytes == ' ' ? "▁" : "",
                    s.token[i]);
        }
        table_row(&table, "%s", numbers);
        table_row(&table, "%s", tokens);
        table_print(&table, stdout);
    }
    printf("%zu bytes, %zu tokens and <s>: %s\n", strlen(story), count,
           same ? "the ids of chapters 1 to 9" : "NOT THE IDS OF CHAPTERS 1 TO 9");
    free(ids);
    sentence_close(&s);
}

/* ---- training a vocabulary */

static int to_characters(const char *text, int ids[]) {
    int n = 0;
    for (; text[n]; n++) ids[n] = text[n];
    return n;
}

static void print_learned(const LearnedMerge token[], int n, const int ids[n]) {
    for (int i = 0; i < n; i++) printf(i ? " %s" : "%s", token[ids[i]].text);
    putchar('\n');
}

enum { BY_HAND = CHARACTERS + 10 };

static void by_hand(LearnedMerge token[BY_HAND]) {
    static const char text[] = " the ball and the bell fall and all the balls call";
    Table table = {0};
    section("Training by hand");
    printf("%zu characters:%s\n", sizeof text - 1, text);
    table_row(&table, "token|<left|<right|<merged|count|ids left");
    /* From the beginning each time, to count the ids that are left. */
    for (int V = CHARACTERS + 1; V <= BY_HAND; V++) {
        int ids[sizeof text], left = bpe_train(V, token, to_characters(text, ids), ids);
        const LearnedMerge *last = &token[V - 1];
        table_row(&table, "%d|%s|%s|%s|%d|%d", V - 1, token[last->left].text,
                  token[last->right].text, last->text, last->times, left);
    }
    table_print(&table, stdout);
}

/* A common mistake: at each position, take the longest token that matches. */
static int longest_first(int V, const LearnedMerge token[V], const char *text, int ids[]) {
    int n = 0;
    for (; *text; text += strlen(token[ids[n++]].text)) {
        ids[n] = 0;
        for (int v = 1; v < V; v++) {
            size_t length = strlen(token[v].text);
            if (length > strlen(token[ids[n]].text) && strncmp(text, token[v].text, length) == 0)
                ids[n] = v;
        }
    }
    return n;
}

static void a_new_word(const LearnedMerge token[BY_HAND]) {
    static const char word[] = " allow";
    int ids[sizeof word], before = 0;
    section("Encoding a new word");
    for (int V = CHARACTERS; V <= BY_HAND; V++) {
        int n = bpe_apply_merges(V, token, to_characters(word, ids), ids);
        if (n != before) {
            printf("after %2d merges     ", V - CHARACTERS);
            print_learned(token, n, ids);
        }
        before = n;
    }
    printf("longest match       ");
    print_learned(token, longest_first(BY_HAND, token, "▁allow", ids), ids);
}

/* ---- training on the stories */

enum { FIRST_MERGE = 259 }; /* of the model's: before it are three special tokens and 256 bytes */

/* Counts the first tokens that the model's vocabulary has at the same place. */
static int common_start(const Tokenizer *model, int V, const LearnedMerge token[V]) {
    int n = 0;
    for (; CHARACTERS + n < V; n++) {
        size_t length;
        const char *piece = tokenizer_piece(model, FIRST_MERGE + n, &length),
                   *ours = token[CHARACTERS + n].text;
        if (length != strlen(ours) || memcmp(piece, ours, length) != 0) break;
    }
    return n;
}

static void on_the_stories(const Tokenizer *model) {
    enum { V = 512 };
    static const int shown[] = {128, 129, 130, 131, 132, 133, 134, 135, 200, 300, 400, V - 1};
    static LearnedMerge token[V];
    size_t length, count;
    char *text = file_read(STORIES, &length);
    int *ids = xmalloc(size_mul(length, sizeof *ids)),
        tokens = bpe_train(V, token, to_characters(text, ids), ids);
    Table table = {0};
    section("Training on the stories");
    printf("%zu characters become %d tokens: %.2f bytes per token\n", length, tokens,
           (double)length / tokens);
    table_row(&table, "token|<left|<right|<merged|count|<SentencePiece's, from 12000 stories");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const LearnedMerge *t = &token[shown[i]];
        const char *piece = tokenizer_piece(model, FIRST_MERGE + shown[i] - CHARACTERS, &count);
        table_row(&table, "%d|%s|%s|%s|%d|%.*s", shown[i], token[t->left].text,
                  token[t->right].text, t->text, t->times, (int)count, piece);
    }
    table_print(&table, stdout);
    printf("the first %d are also SentencePiece's first, in the same order\n",
           common_start(model, V, token));

    static const char question[] = "\nQuestion: Who sold an umbrella?";
    section("Two vocabularies");
    int n = bpe_apply_merges(V, token, to_characters(question, ids), ids);
    int *models = tokenizer_encode(model, strlen(question), question, false, &count);
    printf("512 tokens   ");
    print_learned(token, n, ids);
    printf("the model's  ");
    print_pieces(model, count, models);
    free(models);
    free(ids);
    free(text);
}

/* ---- the two families */

static void show_pieces(const Tokenizer *t, const char *name, const char *text, bool special) {
    size_t count;
    int *ids = tokenizer_encode(t, strlen(text), text, special, &count);
    printf("%-13s  %3zu  ", name, count);
    print_pieces(t, count, ids);
    free(ids);
}

static void show_both(Tokenizer *const families[2], const char *text) {
    putchar('"');
    print_bytes(strlen(text), text);
    puts("\"");
    show_pieces(families[0], "SentencePiece", text, false);
    show_pieces(families[1], "byte-level", text, false);
}

/* Decodes the first token of a text, then the first two, and so on. */
static void show_growing(const Tokenizer *t, const char *text) {
    size_t count, length;
    int *ids = tokenizer_encode(t, strlen(text), text, false, &count);
    for (size_t n = 1; n <= count; n++) {
        char *decoded = tokenizer_decode(t, n, ids, &length);
        printf("%s  ", decoded);
        print_pieces(t, n, ids);
        free(decoded);
    }
    free(ids);
}

static void show_special(const Tokenizer *t, const char *text) {
    for (int special = 0; special < 2; special++)
        show_pieces(t, special ? "as tokens" : "as text", text, special);
}

static void two_families(void) {
    Tokenizer *families[] = {tokenizer_open(ROOT "/tests/golden/tokenizers/sentencepiece"),
                             tokenizer_open(ROOT "/tests/golden/tokenizers/tiktoken")};
    section("Two families");
    show_both(families, "The llama's wool is soft. 羊驼 😀");
    section("Digits and spaces");
    show_both(families, "1234567");
    show_both(families, "the llama");
    show_both(families, "the  llama");
    show_both(families, "    return 0;\n");
    section("Incomplete characters");
    show_growing(families[0], "hi😀");
    section("Special tokens");
    show_special(families[0], "<s>the llama</s>");
    show_special(families[1], "<|begin_of_text|>the llama<|eot_id|>");
    for (int f = 0; f < 2; f++) tokenizer_close(families[f]);
}

/* Options are those of the program tokenize, which lies beside this one. */
static _Noreturn void run_tokenize(char **argv) {
    char path[4096];
    const char *slash = strrchr(argv[0], '/');
    int folder = slash ? (int)(slash + 1 - argv[0]) : 0;
    if (snprintf(path, sizeof path, "%.*stokenize", folder, argv[0]) >= (int)sizeof path)
        fail("%.200s…: the path is too long", argv[0]);
    argv[0] = path;
    execvp(path, argv);
    fail("options need the program %s: %s: run `make`", path, strerror(errno));
}

int main(int argc, char **argv) {
    if (argc > 1) run_tokenize(argv);
    static LearnedMerge token[BY_HAND];
    Tokenizer *model = tokenizer_open(MODEL);
    the_sentence(model);
    by_hand(token);
    a_new_word(token);
    on_the_stories(model);
    two_families();
    tokenizer_close(model);
}
