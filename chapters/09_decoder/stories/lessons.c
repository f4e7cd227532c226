/* What the model of this chapter learned before it read stories: to look things up.
 *
 * Who reads "Where is Anna?" must look for Anna, and for what was said of her. Stories alone hardly teach it: too few
 * of their tokens need it, and until it works they are as well guessed without. So the model first learns to copy,
 * where every token needs it; then to look up one word by another next to it; and then with more and more words between
 * the two, until the lesson is a question.
 *
 * What comes out is a token file (16_training/documents.h): rows of equal length, and how much each token counts. */
#include "09_decoder/stories/words.h"
#include "10_tokenizer/tokenizer.h"
#include "common/error.h"
#include "common/options.h"
#include "common/random.h"
#include "common/safetensors.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ rows of tokens */

typedef struct {
    const Tokenizer *tokenizer;
    size_t rows, length, used; /* of the last row, tokens that are there */
    int32_t *ids;              /* [rows][length] */
    float *learned;            /* the same: how much each counts */
} Rows;

static void begin_row(Rows *r) {
    size_t first = r->rows++ * r->length, numbers = product(r->rows, r->length);
    r->ids = reallocate(r->ids, product(numbers, sizeof *r->ids));
    r->learned = reallocate(r->learned, product(numbers, sizeof *r->learned));
    for (size_t i = 0; i < r->length; i++)
        r->ids[first + i] = tokenizer_eos(r->tokenizer), r->learned[first + i] = 0;
    r->ids[first] = tokenizer_bos(r->tokenizer), r->used = 1;
}

/* A space stands before the text, unless it begins with the end of a line. */
static void add_text(Rows *r, const char *text, float counts) {
    size_t count, space = *text == '\n', first = (r->rows - 1) * r->length + r->used;
    int *ids = tokenizer_encode(r->tokenizer, strlen(text), text, false, &count);
    if (r->used + count - space > r->length) fail("a row of %zu tokens is too short", r->length);
    for (size_t i = space; i < count; i++) r->ids[first + i - space] = ids[i], r->learned[first + i - space] = counts;
    r->used += count - space;
    free(ids);
}

static void save(const Rows *r, const char *path) {
    Tensor ids = {.name = "ids", .dtype = I32, .rank = 2, .shape = {r->rows, r->length}, .data = r->ids};
    Tensor learned = ids;
    learned.name = "learned", learned.dtype = F32, learned.data = r->learned;
    safetensors_save(path, 2, (Tensor[]){ids, learned}, 0, NULL);
}

/* The first `count` become a drawn sample, in a drawn order. */
static void draw(Random *random, int count, int of, int numbers[of]) {
    for (int i = 0; i < of; i++) numbers[i] = i;
    for (int i = 0; i < count; i++) {
        int other = random_between(random, i, of - 1), was = numbers[i];
        numbers[i] = numbers[other], numbers[other] = was;
    }
}

/* ------------------------------------------------------------------ word lists */

static const struct {
    int count;
    const char *const *words;
} vocabulary[] = {{COUNT(names), names}, {COUNT(manners), manners}, {COUNT(kinds), kinds},
                  {COUNT(places), places}, {COUNT(colours), colours}, {COUNT(things), things}};
enum { ALL = COUNT(names) + COUNT(manners) + COUNT(kinds) + COUNT(places) + COUNT(colours) + COUNT(things) };

static const char *word(int n) {
    int kind = 0;
    for (; n >= vocabulary[kind].count; kind++) n -= vocabulary[kind].count;
    return vocabulary[kind].words[n];
}

enum { LIST = 32 };

/* Some words, and the same again in shuffled pieces of 2, 4 or 8: inside a piece each word says the next, and that is
 * all that counts. */
static void add_list(Rows *rows, Random *random) {
    int list[ALL], size = 2 << random_between(random, 0, 2), pieces[LIST];
    draw(random, LIST, ALL, list);
    draw(random, LIST / size, LIST / size, pieces);
    begin_row(rows);
    for (int i = 0; i < LIST; i++) add_text(rows, word(list[i]), 0);
    for (int i = 0; i < LIST; i++) add_text(rows, word(list[pieces[i / size] * size + i % size]), i % size > 0);
}

/* ------------------------------------------------------------------ lessons */

/* What is said of somebody, and how it is asked for; what is to be known then.
 * $a a name, $p a place, $m "brave", $k "fox", $c "red", $t "ball" */
static const struct {
    const char *said, *asked, *known;
} lessons[] = {
    {"$a $p.", "$a", "$p."},
    {"$a in $p.", "$a in", "$p."},
    {"$a was $p.", "$a is", "$p."},
    {"$a in the $p.", "$a in the", "$p."},
    {"$a was in the $p.", "$a is in the", "$p."},
    {"$a was in the $p.", "\nQuestion: Where is $a?\nAnswer:", "$a is in the $p."},
    {"$a $m.", "$a", "$m."},
    {"$a a $m $k.", "$a a", "$m $k."},
    {"$a was a $m $k.", "$a is a", "$m $k."},
    {"$a, a $m $k.", "\nQuestion: Who is $a?\nAnswer:", "$a is a $m $k."},
    {"$t $a.", "$t", "$a."},
    {"$a $t.", "$t", "$a."},
    {"$a had a $c $t.", "$c $t", "$a."},
    {"$a had a $c $t.", "\nQuestion: Who has the $c $t?\nAnswer:", "$a has the $c $t."},
    {"$a had a $c $t.", "\nQuestion: What colour is the $t?\nAnswer:", "The $t is $c."},
};

enum { FACTS = 4, KINDS = COUNT(vocabulary), WORDS_TEXT = 128 };
static const char letters[] = "amkpct"; /* of `vocabulary` */

static void write_fact(char to[static WORDS_TEXT], const char *text, const int fact[KINDS]) {
    for (; *text; text++) {
        if (*text != '$') {
            *to++ = *text;
            continue;
        }
        int kind = (int)(strchr(letters, *++text) - letters);
        to = stpcpy(to, vocabulary[kind].words[fact[kind]]);
    }
    *to = '\0';
}

/* Some facts, then as many times one of them is asked for; one may be asked for again. Some rows repeat an earlier
 * lesson, or it would be forgotten. */
static void add_lesson(Rows *rows, Random *random, int number) {
    int which = random_uniform(random) < 0.7 ? number : random_between(random, 0, number), facts[FACTS][KINDS];
    char text[WORDS_TEXT];
    for (int kind = 0; kind < KINDS; kind++) {
        int drawn[ALL];
        draw(random, FACTS, vocabulary[kind].count, drawn);
        for (int f = 0; f < FACTS; f++) facts[f][kind] = drawn[f];
    }
    begin_row(rows);
    for (int f = 0; f < FACTS; f++) write_fact(text, lessons[which].said, facts[f]), add_text(rows, text, 0.1f);
    for (int f = 0; f < FACTS; f++) {
        const int *fact = facts[random_between(random, 0, FACTS - 1)];
        write_fact(text, lessons[which].asked, fact), add_text(rows, text, 0.1f);
        write_fact(text, lessons[which].known, fact), add_text(rows, text, 1);
    }
}

/* ------------------------------------------------------------------ the program */

int main(int argc, char **argv) {
    const char *folder = NULL, *out = NULL, *lists = NULL, *each = NULL, *seed = "1";
    const Option options[] = {
        {"tokenizer", "DIR", "whose tokens they are", &folder},
        {"lists", "N", "so many rows of word lists, to be copied", &lists},
        {"lessons", "N", "or so many rows of each lesson, one lesson after the other", &each},
        {"seed", "S", "others for another seed (1)", &seed},
        {"out", "FILE", "a .safetensors that build/train reads", &out},
    };
    only_options(argc, argv, "--tokenizer DIR --lists N|--lessons N --out FILE [--seed S]",
                 "Writes what teaches a model to look things up: word lists, and lessons of a few facts.",
                 COUNT(options), options);
    if (!folder || !out || !lists == !each) usage_error("name a tokenizer, a file, and either --lists or --lessons");
    Rows rows = {.tokenizer = tokenizer_open(folder), .length = lists ? 1 + 2 * LIST : 128};
    Random random = {option_number("seed", seed, 0, UINT32_MAX)};
    size_t count = option_number(lists ? "lists" : "lessons", lists ? lists : each, 1, 1000000);
    for (size_t i = 0; lists && i < count; i++) add_list(&rows, &random);
    for (int lesson = 0; each && lesson < COUNT(lessons); lesson++)
        for (size_t i = 0; i < count; i++) add_lesson(&rows, &random, lesson);
    save(&rows, out);
    free(rows.ids), free(rows.learned);
    tokenizer_close((Tokenizer *)rows.tokenizer);
    return 0;
}
