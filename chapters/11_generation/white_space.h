/* White space as Python's str.strip() has it, which is how chat models' prompts were trimmed in
 * training. */
#ifndef WHITE_SPACE_H
#define WHITE_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the white space character that a text of UTF-8 begins with, or, `at_end`, ends with;
 * 0 if there is none. Source: Py_UNICODE_ISSPACE of CPython. */
size_t white_space_at(size_t length, const char *text, bool at_end);

#endif
