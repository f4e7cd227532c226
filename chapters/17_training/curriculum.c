/* curriculum: the training data that the course's model saw before it read stories. It teaches
 * looking things up.
 *
 * To answer "Where is Anna?", the model must find Anna in the text, and what was said of her.
 * Stories alone hardly teach it: too few of their tokens need it, and until it works they are as
 * well guessed without. So the model first learns to copy, where every token needs it; then to look
 * up one word by another next to it; and then with more and more words between the two, until the
 * lesson is a question. Each lesson is a small step from one before it.
 *
 * What comes out is a token file (17_training/documents.h): rows of equal length, and how much each
 * token counts. */
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/stories/words.h"
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
    bool full;                 /* a token found no room in it */
    int32_t *ids;              /* [rows][length] */
    float *learned;            /* the same: how much each counts */
} Rows;

static void begin_row(Rows *r) {
    size_t numbers = size_mul(++r->rows, r->length);
    r->ids = xrealloc(r->ids, size_mul(numbers, sizeof *r->ids));
    r->learned = xrealloc(r->learned, size_mul(numbers, sizeof *r->learned));
    r->used = 0;
    r->full = false;
}

static void add_token(Rows *r, int id, float counts) {
    r->full = r->used == r->length;
    if (r->full) return;
    size_t i = (r->rows - 1) * r->length + r->used++;
    r->ids[i] = id;
    r->learned[i] = counts;
}

/* The text must be there as a whole: it cannot be cut off. */
static void check_it_fits(const Rows *r) {
    if (r->full) fail("a row of %zu tokens is too short", r->length);
}

/* A space stands before the text, unless it begins with the end of a line. */
static void add_text(Rows *r, const char *text, float counts) {
    size_t count, space = *text == '\n';
    int *ids = tokenizer_encode(r->tokenizer, strlen(text), text, false, &count);
    for (size_t i = space; i < count; i++) add_token(r, ids[i], counts);
    free(ids);
}

static void save(const Rows *r, const char *path) {
    Tensor ids = {
        .name = "ids", .dtype = I32, .rank = 2, .shape = {r->rows, r->length}, .data = r->ids};
    Tensor learned = ids;
    learned.name = "learned";
    learned.dtype = F32;
    learned.data = r->learned;
    safetensors_save(path, 2, (Tensor[]){ids, learned}, 0, NULL);
}

/* The first `count` become a drawn sample, in a drawn order. */
static void draw(Random *random, int count, int of, int numbers[of]) {
    for (int i = 0; i < of; i++) numbers[i] = i;
    for (int i = 0; i < count; i++) {
        int other = random_between(random, i, of - 1), was = numbers[i];
        numbers[i] = numbers[other];
        numbers[other] = was;
    }
}

/* ------------------------------------------------------------------ word lists */

static const struct {
    int count;
    const char *const *words;
} vocabulary[] = {{COUNT(names), names},   {COUNT(manners), manners}, {COUNT(kinds), kinds},
                  {COUNT(places), places}, {COUNT(colours), colours}, {COUNT(things), things}};
enum {
    ALL = COUNT(names) + COUNT(manners) + COUNT(kinds) + COUNT(places) + COUNT(colours) +
          COUNT(things)
};

static const char *vocabulary_word(int n) {
    int kind = 0;
    for (; n >= vocabulary[kind].count; kind++) n -= vocabulary[kind].count;
    return vocabulary[kind].words[n];
}

enum { LIST = 32 };

/* Some words, and the same again in shuffled pieces of 2, 4 or 8: inside a piece each word says the
 * next, and that is all that counts. */
static void add_list(Rows *rows, Random *random) {
    int list[ALL], size = 2 << random_between(random, 0, 2), pieces[LIST];
    draw(random, LIST, ALL, list);
    draw(random, LIST / size, LIST / size, pieces);
    begin_row(rows);
    add_token(rows, tokenizer_bos(rows->tokenizer), 0);
    for (int i = 0; i < LIST; i++) add_text(rows, vocabulary_word(list[i]), 0);
    for (int i = 0; i < LIST; i++)
        add_text(rows, vocabulary_word(list[pieces[i / size] * size + i % size]), i % size > 0);
    check_it_fits(rows);
}

/* ------------------------------------------------------------------ lessons */

/* A statement about somebody, the question that asks for it, and its answer. $a a name, $b
 * another, $p a place, $m "brave", $k "fox", $c "red", $t "ball", $n "a red ball" */
typedef struct {
    const char *said, *asked, *known;
} Lesson;

static const Lesson lessons[] = {
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
    {"$a had $n.", "$c $t", "$a."},
    {"$a had $n.", "$c $t:", "$a."},
    {"$a had $n.", "$c $t?\nAnswer:", "$a."},
    {"$a had $n.", "\nQuestion: Who has the $c $t?\nAnswer:", "$a has the $c $t."},
    {"$c $t.", "$t", "$c."},
    {"$c $t.", "$t is", "$c."},
    {"$a had $n.", "$t is", "$c."},
    {"$a had $n.", "\nQuestion: What colour is the $t?\nAnswer:", "The $t is $c."},
};

/* The person named before the ball need not have it. */
static const Lesson gifts[] = {
    {"$a gave the $c $t to $b.", "$c $t?\nAnswer:", "$b."},
    {"$a gave the $c $t to $b.", "\nQuestion: Who has the $c $t?\nAnswer:", "$b has the $c $t."},
    {"$a gave the $c $t to $b. $a sang a song.",
     "\nQuestion: Who has the $c $t?\nAnswer:", "$b has the $c $t."},
    {"$a gave the $c $t to $b.", "\nQuestion: Where is the $c $t?\nAnswer:", "$b has it."},
};

enum { FACTS = 4, KINDS = COUNT(vocabulary), WORDS_TEXT = 128 };
enum { NAME = 0, COLOUR = 4, THING };   /* of `vocabulary` */
static const char letters[] = "amkpct"; /* the same */

/* A word of each kind, and the name of another. */
typedef struct {
    int word[KINDS], other;
} Fact;

static void write_fact(char to[static WORDS_TEXT], const char *text, const Fact *fact) {
    for (; *text; text++) {
        if (*text != '$') {
            *to++ = *text;
            continue;
        }
        const char *colour = colours[fact->word[COLOUR]], *thing = things[fact->word[THING]];
        if (*++text == 'n') to += sprintf(to, "%s %s %s", article(colour), colour, thing);
        else if (*text == 'b') to = stpcpy(to, names[fact->other]);
        else {
            int kind = (int)(strchr(letters, *text) - letters);
            to = stpcpy(to, vocabulary[kind].words[fact->word[kind]]);
        }
    }
    *to = '\0';
}

/* So many facts that have no word in common. */
static void draw_facts(Random *random, bool two_names, int count, Fact facts[count]) {
    int drawn[ALL];
    for (int kind = 0; kind < KINDS; kind++) {
        bool others = kind == NAME && two_names;
        draw(random, others ? 2 * FACTS : FACTS, vocabulary[kind].count, drawn);
        for (int f = 0; f < count; f++) facts[f].word[kind] = drawn[f];
        for (int f = 0; f < count && others; f++) facts[f].other = drawn[FACTS + f];
    }
}

/* Some facts; then each of them is asked for, in another order. What is to be known counts 1, and
 * the rest `other`. */
static void add_lesson(Rows *rows, Random *random, float other, const Lesson *lesson, int count) {
    Fact facts[FACTS];
    int order[FACTS];
    char text[WORDS_TEXT];
    draw_facts(random, strstr(lesson->said, "$b"), count, facts);
    draw(random, count, count, order);
    add_token(rows, tokenizer_bos(rows->tokenizer), 0);
    for (int f = 0; f < count; f++) {
        write_fact(text, lesson->said, &facts[f]);
        add_text(rows, text, other);
    }
    for (int f = 0; f < count; f++) {
        const Fact *fact = &facts[order[f]];
        write_fact(text, lesson->asked, fact);
        add_text(rows, text, other);
        write_fact(text, lesson->known, fact);
        add_text(rows, text, 1);
    }
}

/* A lesson about a thing has twice as many rows: its name has two words, which makes it slower
 * to learn. */
static bool is_of_a_thing(const Lesson *lesson) {
    return strstr(lesson->said, "$t") || strstr(lesson->said, "$n");
}

/* As many lessons as a row has room for; the last one is cut off. Some repeat an earlier one, or it
 * would be forgotten. */
static void add_lessons(Rows *rows, Random *random, float other, int number) {
    begin_row(rows);
    for (bool first = true; !rows->full; first = false) {
        int which = random_uniform(random) < 0.7 ? number : random_between(random, 0, number);
        add_lesson(rows, random, other, &lessons[which], FACTS);
        if (first) check_it_fits(rows);
    }
}

/* The same of one gift or more; four long ones may be cut off before the last answer. */
static void add_gifts(Rows *rows, Random *random, float other) {
    begin_row(rows);
    while (!rows->full) {
        const Lesson *gift = &gifts[random_between(random, 0, COUNT(gifts) - 1)];
        add_lesson(rows, random, other, gift, random_between(random, 1, FACTS));
    }
}

/* ------------------------------------------------------------------ the program */

int main(int argc, char **argv) {
    const char *folder = NULL, *out = NULL, *lists = NULL, *each = NULL, *given = NULL, *seed = "1",
               *otherwise = NULL;
    const Option options[] = {
        {"tokenizer", "DIR", "whose tokens they are", &folder},
        {"copy-task|lists", "N", "so many rows of word lists, to be copied", &lists},
        {"lessons", "N",
         "or so many rows of each lesson, twice as many of one about a thing, in their order",
         &each},
        {"recall-task|gifts", "N", "or so many rows of lessons about who was given what", &given},
        {"loss-weight-else|otherwise", "X",
         "of lessons, how much counts what is not asked for, where that counts 1 (0.1)",
         &otherwise},
        {"seed", "S", "others for another seed (1)", &seed},
        {"out", "FILE", "a .safetensors that build/train reads", &out},
    };
    only_options(
        argc, argv,
        "--tokenizer DIR --copy-task N|--lessons N|--recall-task N --out FILE [--loss-weight-else "
        "X] [--seed S]",
        "Writes what teaches a model to look things up: word lists, and lessons of a few facts.",
        COUNT(options), options);
    if (!folder || !out || !!lists + !!each + !!given != 1)
        usage_error(
            "name a tokenizer, a file, and one of --copy-task, --lessons and --recall-task");
    if (lists && otherwise)
        usage_error("--loss-weight-else %s is of lessons, and these are --copy-task", otherwise);
    Rows rows = {.tokenizer = tokenizer_open_any(folder), .length = lists ? 1 + 2 * LIST : 128};
    float other = otherwise ? (float)option_decimal("loss-weight-else", otherwise, 0, 1) : 0.1f;
    Random random = {option_number("seed", seed, 0, UINT32_MAX)};
    const char *name = lists  ? "copy-task"
                       : each ? "lessons"
                              : "recall-task",
               *number = lists  ? lists
                         : each ? each
                                : given;
    size_t count = option_number(name, number, 1, 1000000);
    for (size_t i = 0; lists && i < count; i++) add_list(&rows, &random);
    for (int lesson = 0; each && lesson < COUNT(lessons); lesson++)
        for (size_t i = 0; i < count * (is_of_a_thing(&lessons[lesson]) ? 2 : 1); i++)
            add_lessons(&rows, &random, other, lesson);
    for (size_t i = 0; given && i < count; i++) add_gifts(&rows, &random, other);
    save(&rows, out);
    free(rows.ids);
    free(rows.learned);
    tokenizer_close((Tokenizer *)rows.tokenizer);
    return 0;
}
