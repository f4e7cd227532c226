/* JSON, by jansson: strict, without duplicate keys, and with memory that never runs out: where ours
 * does, fail() says so instead of calling the text wrong. */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* NULL if it is no JSON object or array; the problem, which may be NULL, says why. */
json_t *json_read(const char *text, size_t length, json_error_t *problem);

/* The same, and every whole number becomes a real one: some files have larger ones than 64 bits can
 * hold. */
json_t *json_read_reals(const char *text, size_t length, json_error_t *problem);

/* Whether it is a whole number, spelled as one, from low to high. */
bool json_is_whole(const json_t *value, int low, int high);

json_t *json_new(void); /* an object, still empty */

#endif
