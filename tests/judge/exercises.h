/* The exercises: which kernels a chapter asks its reader to write. Each task is judged as any
 * kernel is. */
#ifndef VERIFY_EXERCISES_H
#define VERIFY_EXERCISES_H

#include "tests/judge/verify.h"

enum { MOST_TASKS = 5 };

typedef struct {
    const char *chapter; /* "05_rope": the file is chapters/05_rope/exercise.c */
    const char
        *tasks[MOST_TASKS]; /* kernels, in the order of the file; the last is the challenge */
} Exercise;

const Exercise *exercise_at(int index);                /* NULL past the last */
const Exercise *exercise_numbered(const char *number); /* of chapter "04", or "4"; or fail() */
int task_count(const Exercise *exercise);

/* Prints how far the library's author is: a line a task, the report of the first that is wrong,
 * what to do next. `source` is the file's name. False if something is wrong: a task that is not
 * written yet is no mistake. */
bool show_progress(const Exercise *exercise, Library *library, const char *source);

#endif
