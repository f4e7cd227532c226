/* The data of this chapter's figures. Those of Llama 2's and Llama 3's own vocabularies are in
 * tests/golden/vocabularies.txt. */
#include "10_tokenizer/bpe_train.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"

#include <stdlib.h>
#include <string.h>

#define STORIES ROOT "/chapters/10_tokenizer/stories.txt"

static int characters_of(size_t length, const char *text, int ids[]) {
    for (size_t i = 0; i < length; i++) ids[i] = text[i];
    return (int)length;
}

/* ---- the merge trees of two words */

enum { LESSON = 512 }; /* the vocabulary that the lesson learns */

/* A node stands over the middle of what it is made of, one step above it; the letters stand at
 * 0. */
typedef struct {
    double x, y;
} Place;

/* From left to right: the letters of a token, and the merges between them. */
static Place write_tree(FILE *nodes, FILE *edges, const LearnedMerge token[], int id, double *x) {
    Place at = {*x, 0};
    if (id < CHARACTERS) {
        *x += 1;
        fprintf(nodes, "%g 0 %s letter\n", at.x, token[id].text);
        return at;
    }
    Place left = write_tree(nodes, edges, token, token[id].left, x);
    Place right = write_tree(nodes, edges, token, token[id].right, x);
    at = (Place){(left.x + right.x) / 2, 1 + (left.y > right.y ? left.y : right.y)};
    fprintf(edges, "%g %g\n%g %g\n%g %g\n%g %g\n\n", left.x, left.y, left.x, at.y, right.x, at.y,
            right.x, right.y);
    fprintf(nodes, "%g %g %s %d\n", at.x, at.y, token[id].text, id - CHARACTERS + 1);
    return at;
}

static void trees(const char *data, const LearnedMerge token[LESSON]) {
    static const char *const words[] = {"Question", " umbrella"};
    Output nodes = data_open(data, "10_nodes", "x, height, text, number of its merge");
    Output edges = data_open(data, "10_edges", "x, height; a block for each merge");
    Output tokens =
        data_open(data, "10_tokens", "x of the first letter of a token, and of its last");
    double x = 0;
    for (int w = 0; w < 2; w++, x += 1.5) {
        int ids[LONGEST], n = bpe_apply_merges(LESSON, token,
                                               characters_of(strlen(words[w]), words[w], ids), ids);
        for (int i = 0; i < n; i++, x += 0.3) {
            double first = x;
            write_tree(nodes.file, edges.file, token, ids[i], &x);
            fprintf(tokens.file, "%g %g\n", first, x - 1);
        }
    }
    output_close(&nodes);
    output_close(&edges);
    output_close(&tokens);
}

/* ---- bytes a token, merge by merge */

static const char other_english[] =
    "In the morning the children went to the river with bread and water, and an old man showed "
    "them where the fish were. \"Look there,\" he said, \"under that stone. If you stand still for "
    "a moment, they will come out.\" The youngest could not wait, threw a pebble, and all of them "
    "were gone. A language model reads a text from left to right and says at every place what "
    "comes next. It does not see letters. What it sees is a list of numbers, each of which stands "
    "for a piece.";

static void bytes_a_token(const char *data) {
    enum { V = 800, TEXTS = 3 };
    static LearnedMerge token[V];
    size_t length;
    char *stories = file_read(STORIES, &length);
    size_t read = length * 3 / 4; /* what is learned from: of the rest nothing is known */
    const struct {
        const char *text;
        size_t length;
    } texts[TEXTS] = {{stories, read},
                      {stories + read, length - read},
                      {other_english, sizeof other_english - 1}};
    int *ids[TEXTS], n[TEXTS], *out = xmalloc(size_mul(length, sizeof *out));
    for (int i = 0; i < TEXTS; i++) {
        ids[i] = xmalloc(size_mul(texts[i].length, sizeof *ids[i]));
        n[i] = characters_of(texts[i].length, texts[i].text, ids[i]);
    }
    bpe_train(V, token, characters_of(read, stories, out), out);
    Output output =
        data_open(data, "10_learning",
                  "merges; bytes a token of what it learns from, other stories, English");
    for (int v = CHARACTERS; v < V && token[v].times > 0; v++) {
        fprintf(output.file, "%d", v - CHARACTERS + 1);
        for (int i = 0; i < TEXTS; i++) {
            n[i] = merge_pair(n[i], out, ids[i], token[v].left, token[v].right, v);
            memcpy(ids[i], out, (size_t)n[i] * sizeof *out);
            fprintf(output.file, " %.4f", (double)texts[i].length / n[i]);
        }
        fputc('\n', output.file);
    }
    output_close(&output);
    for (int i = 0; i < TEXTS; i++) free(ids[i]);
    free(out);
    free(stories);
}

int main(int argc, char **argv) {
    static LearnedMerge token[LESSON];
    const char *data = chapter_options(argc, argv, "What the figures of chapter 10 draw.");
    if (!data) return 0;
    size_t length;
    char *stories = file_read(STORIES, &length);
    int *ids = xmalloc(size_mul(length, sizeof *ids));
    bpe_train(LESSON, token, characters_of(length, stories, ids), ids);
    trees(data, token);
    bytes_a_token(data);
    free(ids);
    free(stories);
}
