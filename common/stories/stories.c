/* Short stories whose facts are known: what the course's model learned to read, and how well it
 * did.
 *
 * A story is a row of events in a small world: people go to places, and find, give, leave and take
 * things. Every event has conditions: no other event is written, and a text that tells of another
 * contradicts itself. Every event has wordings, and they serve both ways: to write it, and to read
 * it in a text that somebody else wrote. Questions, which follow the story, are events, too: their
 * condition is that the answer is true. */
#include "common/stories/words.h"
#include "common/stories/world.h"
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"
#include "common/random.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ wordings, written and read */

/* $a $b a name, $A She or He, $h her or his, $k "a brave fox", $n "a red ball", $o "red ball", $t
 * "ball", $c "red", $p a place */
static const struct {
    What what;
    const char *text;
} wordings[] = {
    {FIRST, "Once upon a time there was $a, $k."},
    {FIRST, "Long ago there lived $a, $k."},
    {FIRST, "This is the story of $a, $k."},
    {ANOTHER, "There was also $a, $k."},
    {ANOTHER, "$a was $k."},
    {ANOTHER, "Not far away lived $a, $k."},
    {BE, "One morning $a was in the $p."},
    {BE, "$a was in the $p that day."},
    {BE, "$A was in the $p."},
    {OWN, "$a had $n."},
    {OWN, "$A had $n."},
    {OWN, "$A carried $n in $h bag."},
    {OWN, "$a had got $n from $h grandmother."},
    {FIND, "$a found $n."},
    {FIND, "$A found $n."},
    {FIND, "There $a found $n."},
    {FIND, "In the $p $a found $n."},
    {FIND, "\"What is this?\" said $a, and picked up $n."},
    {GO, "$a went to the $p."},
    {GO, "Then $a went to the $p."},
    {GO, "$a ran to the $p."},
    {GO, "After a while $a walked to the $p."},
    {GO, "$A walked to the $p."},
    {GO, "\"I want to see the $p,\" said $a, and went there."},
    {GO_TOGETHER, "$a and $b went to the $p."},
    {GO_TOGETHER, "\"Come with me!\" said $a, and went to the $p with $b."},
    {GO_TOGETHER, "Then $a and $b walked to the $p together."},
    {MEET, "There $a met $b."},
    {MEET, "$A saw $b and said hello."},
    {MEET, "$a and $b played together for an hour."},
    {MEET, "\"How nice to see you, $b!\" said $a."},
    {LIKE, "\"I like your $o,\" said $a to $b."},
    {LIKE, "$a looked at the $o that $b had."},
    {ASK, "\"May I have the $o?\" $a asked $b."},
    {ASK, "$a wanted the $o so much."},
    {GIVE, "$a gave the $o to $b."},
    {GIVE, "$A gave $b the $o."},
    {GIVE, "Then $a gave $b the $o."},
    {GIVE, "\"You can have my $o,\" said $a to $b, and handed it over."},
    {THANK, "\"Thank you, $b!\" said $a."},
    {THANK, "$a thanked $b and smiled."},
    {LEAVE, "$a left the $o in the $p."},
    {LEAVE, "$A put the $o down in the $p."},
    {LEAVE, "$a was tired of the $o and put it down."},
    {TAKE, "$a took the $o."},
    {TAKE, "$A picked up the $o."},
    {TAKE, "\"Whose is this?\" asked $a, and took the $o."},
    {FEEL, "$a was very happy."},
    {FEEL, "$A laughed."},
    {FEEL, "$a sang a song."},
    {FEEL, "A bird was singing, and $a listened."},
    {FEEL, "$a danced for joy."},
    {END, "In the evening everyone was tired and fell asleep."},
    {END, "It had been a wonderful day."},
    {END, "And that is the end of the story."},

    {WHO_HAS, "Question: Who has the $o?\nAnswer: $a has the $o."},
    {WHERE_HELD, "Question: Where is the $o?\nAnswer: $a has it."},
    {WHERE_LEFT, "Question: Where is the $o?\nAnswer: It lies in the $p."},
    {WHERE_WHO, "Question: Where is $a?\nAnswer: $a is in the $p."},
    {WHO_IS, "Question: Who is $a?\nAnswer: $a is $k."},
    {WHO_FOUND, "Question: Who found the $o?\nAnswer: $a found the $o."},
    {COLOUR, "Question: What colour is the $t?\nAnswer: The $t is $c."},
};

static bool is_girl(int name) { return name < GIRLS; }

static void write_event(FILE *file, const char *text, const Event *event) {
    const char *colour = event->colour == NONE ? "" : colours[event->colour],
               *thing = event->thing == NONE ? "" : things[event->thing];
    for (; *text; text++) {
        if (*text != '$') {
            putc(*text, file);
            continue;
        }
        switch (*++text) {
        case 'a': fputs(names[event->a], file); break;
        case 'b': fputs(names[event->b], file); break;
        case 'A': fputs(is_girl(event->a) ? "She" : "He", file); break;
        case 'h': fputs(is_girl(event->a) ? "her" : "his", file); break;
        case 'k': fprintf(file, "a %s %s", manners[event->manner], kinds[event->kind]); break;
        case 'n': fprintf(file, "%s %s %s", article(colour), colour, thing); break;
        case 'o': fprintf(file, "%s %s", colour, thing); break;
        case 't': fputs(thing, file); break;
        case 'c': fputs(colour, file); break;
        case 'p': fputs(places[event->place], file); break;
        }
    }
}

/* Moves *text past `word` if it stands there. */
static bool skip(const char **text, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0) return false;
    *text += length;
    return true;
}

/* Moves *text past one of the words, and says which. A word that was read before in this event must
 * be the same. */
static bool skip_one(const char **text, int count, const char *const words[count], int *which) {
    for (int i = 0; i < count; i++) {
        const char *rest = *text;
        if ((*which == NONE || *which == i) && skip(&rest, words[i]) &&
            !isalpha((unsigned char)*rest))
            return *which = i, *text = rest, true;
    }
    return false;
}

static bool read_object(const char **text, Event *event) {
    return skip_one(text, COUNT(colours), colours, &event->colour) && skip(text, " ") &&
           skip_one(text, COUNT(things), things, &event->thing);
}

/* Reads *text as this wording; $A is the person who acted last. */
static bool read_event(const char **text, const char *wording, const World *world, Event *event) {
    const char *rest = *text;
    for (; *wording; wording++) {
        bool found;
        if (*wording != '$') {
            found = *rest == *wording;
            rest += found;
        } else switch (*++wording) {
            case 'a': found = skip_one(&rest, COUNT(names), names, &event->a); break;
            case 'b': found = skip_one(&rest, COUNT(names), names, &event->b); break;
            case 'A':
                event->a = world->last.a;
                found = event->a != NONE && skip(&rest, is_girl(event->a) ? "She" : "He");
                break;
            case 'h': found = skip(&rest, is_girl(event->a) ? "her" : "his"); break;
            case 'k':
                found = skip(&rest, "a ") &&
                        skip_one(&rest, COUNT(manners), manners, &event->manner) &&
                        skip(&rest, " ") && skip_one(&rest, COUNT(kinds), kinds, &event->kind);
                break;
            case 'n':
                found = (skip(&rest, "an ") || skip(&rest, "a ")) && read_object(&rest, event);
                break;
            case 'o': found = read_object(&rest, event); break;
            case 't': found = skip_one(&rest, COUNT(things), things, &event->thing); break;
            case 'c': found = skip_one(&rest, COUNT(colours), colours, &event->colour); break;
            default: found = skip_one(&rest, COUNT(places), places, &event->place); break;
            }
        if (!found) return false;
    }
    if (*rest && !isspace((unsigned char)*rest)) return false;
    *text = rest;
    return true;
}

/* ------------------------------------------------------------------ a story */

static const Event nothing = {.a = NONE,
                              .b = NONE,
                              .manner = NONE,
                              .kind = NONE,
                              .colour = NONE,
                              .thing = NONE,
                              .place = NONE};
static const World empty = {.last = {.a = NONE}};

static int any(Random *random, int count) { return random_between(random, 0, count - 1); }

enum { SCENE = 3 }; /* places of one story: few, so that its people meet */
enum {
    LEAST_QUESTIONS = 4,
    MOST_QUESTIONS = 6
}; /* two people and a thing that nobody has leave room for six */

/* An event of this kind that can happen, or one that cannot after many tries. */
static Event choose_event(const World *world, What what, const int scene[SCENE], Random *random) {
    Event event;
    for (int tries = 0; tries < 100; tries++) {
        event = nothing;
        event.what = what;
        int a = any(random, world->people ? world->people : 1),
            b = any(random, world->people ? world->people : 1);
        int object = any(random, world->objects ? world->objects : 1);
        bool new_person = what == FIRST || what == ANOTHER,
             new_object = what == OWN || what == FIND;
        bool moves = what == BE || what == GO || what == GO_TOGETHER;
        event.a = new_person ? any(random, COUNT(names)) : world->person[a].name;
        event.b = world->people ? world->person[b].name : NONE;
        event.manner = new_person ? any(random, COUNT(manners)) : world->person[a].manner;
        event.kind = new_person ? any(random, COUNT(kinds)) : world->person[a].kind;
        event.colour = new_object ? any(random, COUNT(colours)) : world->object[object].colour;
        event.thing = new_object ? any(random, COUNT(things)) : world->object[object].thing;
        event.place = moves                ? scene[any(random, SCENE)]
                      : what == WHERE_LEFT ? world->object[object].place
                                           : world->person[a].place;
        if (possible(world, &event)) break;
    }
    return event;
}

/* One of its wordings; "She" only for whoever acted last. */
static const char *choose_wording(const World *world, const Event *event, Random *random) {
    for (;;) {
        int i = any(random, COUNT(wordings));
        if (wordings[i].what == event->what &&
            (!strstr(wordings[i].text, "$A") || world->last.a == event->a))
            return wordings[i].text;
    }
}

/* Whether it happened. */
static bool tell(World *world, What what, const int scene[SCENE], const char *before, FILE *file,
                 Random *random) {
    Event event = choose_event(world, what, scene, random);
    if (!possible(world, &event)) return false;
    fputs(before, file);
    write_event(file, choose_wording(world, &event, random), &event);
    happen(world, &event);
    return true;
}

static bool same_question(const Event *x, const Event *y) {
    bool of_person = x->what == WHERE_WHO || x->what == WHO_IS;
    return x->what == y->what &&
           (of_person ? x->a == y->a : x->colour == y->colour && x->thing == y->thing);
}

/* Each only once: who sees a question again learns to copy its first answer. */
static void write_questions(const World *world, const int scene[SCENE], FILE *file,
                            Random *random) {
    Event asked[MOST_QUESTIONS];
    int count = 0, wanted = random_between(random, LEAST_QUESTIONS, MOST_QUESTIONS);
    while (count < wanted) {
        Event event =
            choose_event(world, (What)random_between(random, QUESTIONS, EVENTS - 1), scene, random);
        bool fresh = possible(world, &event);
        for (int i = 0; i < count; i++) fresh &= !same_question(&event, &asked[i]);
        if (!fresh) continue;
        putc('\n', file);
        write_event(file, choose_wording(world, &event, random), &event);
        asked[count++] = event;
    }
}

static void write_story(FILE *file, Random *random) {
    static const What plot[] = {GO,   GO,    GO,    GO,   GO_TOGETHER, GO_TOGETHER, FIND,
                                FIND, MEET,  MEET,  LIKE, ASK,         GIVE,        GIVE,
                                GIVE, LEAVE, LEAVE, TAKE, TAKE,        FEEL};
    World world = empty;
    int scene[SCENE];
    for (int i = 0; i < SCENE; i++) scene[i] = any(random, COUNT(places));
    tell(&world, FIRST, scene, "", file, random);
    tell(&world, BE, scene, " ", file, random);
    for (int others = random_between(random, 1, PEOPLE - 1); others > 0; others--) {
        if (any(random, 2)) tell(&world, OWN, scene, " ", file, random);
        tell(&world, ANOTHER, scene, " ", file, random);
        while (!tell(&world, BE, scene, " ", file, random)) continue;
    }
    if (world.objects == 0) tell(&world, OWN, scene, " ", file, random);
    for (int events = random_between(random, 0, random_between(random, 2, 10)); events > 0;) {
        events -= tell(&world, plot[any(random, COUNT(plot))], scene, " ", file, random);
        if (world.last.what == GIVE && any(random, 2))
            tell(&world, THANK, scene, " ", file, random);
    }
    tell(&world, END, scene, " ", file, random);
    write_questions(&world, scene, file, random);
    putc('\n', file);
}

/* ------------------------------------------------------------------ what others wrote */

typedef struct {
    int stories, consistent, questions, right;
} Score;

/* The next event at *text, whether it is possible or not; false if it has none of the wordings. */
static bool understand(const char **text, const World *world, Event *event) {
    for (int i = 0; i < COUNT(wordings); i++) {
        *event = nothing;
        event->what = wordings[i].what;
        if (read_event(text, wordings[i].text, world, event)) return complete(world, event), true;
    }
    return false;
}

/* Judges one story and its questions; says what is wrong with it. */
static void judge_story(const char *text, int number, Score *score) {
    World world = empty;
    bool consistent = true;
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        const char *start = text;
        Event event;
        bool question = strncmp(text, "Question:", 9) == 0;
        bool right = understand(&text, &world, &event) && possible(&world, &event);
        if (question) {
            score->questions++;
            score->right += right;
        } else consistent &= right;
        if (right) {
            happen(&world, &event);
            continue;
        }
        const char *next = strstr(start, "\nQuestion:");
        int length = (int)(next ? (size_t)(next - start) : strlen(start));
        printf("story %d, %s: %.*s\n", number, question ? "a wrong answer" : "this cannot be",
               question || length < 60 ? length : 60, start);
        if (!next) break;
        text = next;
    }
    score->stories++;
    score->consistent += consistent && world.ended;
}

static void judge_file(const char *path) {
    size_t length;
    char *text = file_read(path, &length), *rest = text;
    Score score = {0};
    for (char *story; (story = rest);) {
        rest = strstr(story, "\n\n");
        if (rest) {
            *rest = '\0';
            rest += 2;
        }
        if (story[strspn(story, " \n")]) judge_story(story, score.stories + 1, &score);
    }
    if (score.stories == 0) fail("%s: there is no story", path);
    printf("%d of %d stories are consistent, %d of %d questions are answered rightly\n",
           score.consistent, score.stories, score.right, score.questions);
    free(text);
}

/* ------------------------------------------------------------------ the program */

int main(int argc, char **argv) {
    const char *count = NULL, *seed = NULL, *check = NULL;
    const Option options[] = {
        {"count", "N", "how many stories to write; a blank line stands between them (1)", &count},
        {"seed", "S", "other stories for another seed (1)", &seed},
        {"check", "FILE|-", "read stories instead, and judge their facts and their answers",
         &check},
    };
    only_options(argc, argv, "[--count N] [--seed S] | --check FILE|-",
                 "Writes short stories with questions about them, or judges those of another.",
                 COUNT(options), options);
    if (check && (count || seed))
        usage_error("--check judges stories, and writes none: no --count and no --seed");
    if (check) return judge_file(check), 0;
    Random random = {seed ? option_number("seed", seed, 0, ULONG_MAX) : 1};
    unsigned long stories = count ? option_number("count", count, 0, ULONG_MAX) : 1;
    for (unsigned long i = 0; i < stories; i++) {
        if (i) putchar('\n');
        write_story(stdout, &random);
    }
    return 0;
}
