#include "tests/judge/mistakes.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char **known_mistakes(const Golden *golden, int *count) {
    static const char kind[] = "wrong/";
    const char **names = xmalloc((golden->file.metadata_count + 1) * sizeof *names);
    *count = 0;
    for (size_t i = 0; i < golden->file.metadata_count; i++) {
        const char *key = golden->file.metadata[i].key;
        if (strncmp(key, kind, strlen(kind)) == 0) names[(*count)++] = key + strlen(kind);
    }
    qsort(names, (size_t)*count, sizeof *names, by_name);
    return names;
}

/* The end of the first sentence, or of the part before a colon; NULL if there is but one. The dots
 * of "0 .. t" end nothing. */
static const char *end_of_the_first_part(const char *words) {
    for (const char *at = words; *at; at++)
        if (at[0] == ':' && at[1] == ' ') return at;
        else if (at[0] == '.' && at[1] == ' ' && at > words && at[-1] != '.') return at;
    return NULL;
}

void mistake_texts(const Golden *golden, const char *mistake, char does[static MISTAKE_TEXT],
                   char advice[static MISTAKE_TEXT]) {
    char words[2 * MISTAKE_TEXT];
    snprintf(words, sizeof words, "%s", golden_advice(golden, mistake));
    char *where = strstr(words, ": see c"); /* chapters/ or common/: the listing names it once */
    if (where) *where = '\0';
    const char *end = end_of_the_first_part(words);
    size_t length = end ? (size_t)(end - words) : strlen(words);
    snprintf(does, MISTAKE_TEXT, "%.*s.", (int)length, words);
    snprintf(advice, MISTAKE_TEXT, "%s%s", end ? end + 2 : "", end ? "." : "");
}

const Tensor *output_of_mistake(const GoldenCase *golden_case, const char *mistake) {
    for (int i = 0; i < golden_case->known_mistake_count; i++)
        if (strcmp(golden_case->known_mistake[i].name, mistake) == 0)
            return &golden_case->known_mistake[i];
    return NULL;
}

int cases_that_tell(const Golden *golden, const char *mistake) {
    int count = 0;
    for (int c = 0; c < golden->count; c++)
        count += output_of_mistake(&golden->cases[c], mistake) != NULL;
    return count;
}
