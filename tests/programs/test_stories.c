/* What `stories` takes for a contradiction: chapter 9's model is judged by it, so it must know the
 * possible from the impossible. */
#define PROGRAM "'" BUILD "/stories'"
#include "tests/program.h"

#define BEGINNING                                                                                  \
    "Long ago there lived Anna, a brave fox. Anna was in the forest that day. "                    \
    "There was also Ben, a shy owl. Ben was in the forest that day. Anna had a red ball. "
#define END "It had been a wonderful day.\n"
#define QUESTION(question, answer) "Question: " question "\nAnswer: " answer "\n"

static void check(const char *story) {
    FILE *file = fopen(AT("%s/story", folder), "w");
    fputs(story, file);
    fclose(file);
    assert_runs("--check story");
}

static void the_impossible_is_seen(void **) {
    static const char *const events[] = {
        "Long ago there lived Carl, a shy owl.",
        "There was also Ben, a shy owl.",
        "Ben was in the castle that day.",
        "Ben had a red ball.",
        "In the castle Anna found a blue hat.",
        "Carl had a blue hat.",
        "Anna went to the forest.",
        "Anna and Anna went to the castle.",
        "There Anna met Carl.",
        "\"I like your red ball,\" said Anna to Ben.",
        "Anna wanted the blue hat so much.",
        "Ben gave the red ball to Anna.",
        "Anna gave the blue hat to Ben.",
        "Anna thanked Ben and smiled.",
        "Ben left the red ball in the forest.",
        "Anna left the red ball in the castle.",
        "Ben took the red ball.",
        "Ben took the blue hat.",
        "Carl danced for joy.",
        "The moon is made of cheese.",
        "Anna was very happyly.",
        END "Anna laughed.",
        QUESTION("Who has the red ball?", "Anna has the red ball."),
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        check(AT(BEGINNING "%s " END, events[i]));
        assert_said("0 of 1 stories are consistent");
        if (strncmp(events[i], "Question", 8) != 0) assert_said("story 1, this cannot be: ");
    }
    check(BEGINNING "There was also Carl, a busy cat. " END); /* where is he? */
    assert_said("this cannot be: It had been");
    check(BEGINNING
          "There was also Carl, a busy cat. There was also Emma, a busy duck. " END); /* one too
                                                                                         many */
    assert_said("this cannot be: There was also Emma");
    check(END);
    assert_said("this cannot be: It had been");
    check(BEGINNING); /* without an end */
    assert_said("0 of 1 stories are consistent");
}

static void the_possible_is_believed(void **) {
    check(BEGINNING "Anna wanted the red ball so much. " END);
    assert_said("this cannot be: Anna wanted"); /* it is hers */
    check(BEGINNING
          "Ben wanted the red ball so much. Anna gave the red ball to Ben. \"Thank you, Anna!\" "
          "said Ben. Ben was tired of the red ball and put it down. Then Anna and Ben walked to "
          "the castle together. There Anna found an orange hat. " END QUESTION(
              "Where is the red ball?", "It lies in the forest.")
              QUESTION("Who has the orange hat?", "Anna has the orange hat.")
                  QUESTION("Where is the orange hat?", "Anna has it.")
                      QUESTION("Where is Ben?", "Ben is in the castle.")
                          QUESTION("Who is Ben?", "Ben is a shy owl.")
                              QUESTION("Who found the orange hat?", "Anna found the orange hat.")
                                  QUESTION("What colour is the hat?", "The hat is orange."));
    assert_string_equal(said,
                        "1 of 1 stories are consistent, 7 of 7 questions are answered rightly\n");
}

static void wrong_answers_are_counted(void **) {
    check(
        BEGINNING
        "Anna left the red ball in the forest. In the forest Anna found a blue ball. " END QUESTION(
            "Who has the red ball?", "Anna has the red ball.")
            QUESTION("Where is the red ball?", "Ben has it.") QUESTION("Where is the red ball?",
                                                                       "It lies in the castle.")
                QUESTION("Where is the blue ball?", "It lies in the forest.")
                    QUESTION("Where is Ben?", "Ben is in the castle.")
                        QUESTION("Who is Ben?", "Ben is a shy cat.") QUESTION("Who is Ben?",
                                                                              "Ben is a busy owl.")
                            QUESTION("Who found the blue ball?", "Ben found the blue ball.")
                                QUESTION("Who found the green ball?", "Ben found the green ball.")
                                    QUESTION("What colour is the ball?", "The ball is red.")
                                        QUESTION("What colour is the hat?", "The hat is red.")
                                            QUESTION("Who is Ben?", "I do not know.") QUESTION(
                                                "Where is Anna?", "Anna is in the forest."));
    assert_said("story 1, a wrong answer: Question: Who has the red ball?");
    assert_said("\n1 of 1 stories are consistent, 1 of 13 questions are answered rightly\n");
}

/* As many as are asked for, and a blank line between two. */
static void stories_are_told_apart(void **) {
    enum { STORIES = 6 };
    assert_runs("--count %d --seed 5", STORIES);
    int count = 1;
    for (const char *rest = said; (rest = strstr(rest, "\n\n")); rest += 2) count++;
    assert_int_equal(count, STORIES);
}

static void what_is_no_story_is_refused(void **) {
    assert_error(run("--check /dev/null"), "there is no story");
    assert_misuse(run("a story"));
    assert_misuse(run("--count many"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_impossible_is_seen),      cmocka_unit_test(the_possible_is_believed),
        cmocka_unit_test(wrong_answers_are_counted),   cmocka_unit_test(stories_are_told_apart),
        cmocka_unit_test(what_is_no_story_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
