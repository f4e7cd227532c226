/* The post_processor of a tokenizer.json: the token that it puts before a text is BOS. Those that
 * it puts after a text are left out, because the text is to go on. */
#ifndef POST_PROCESSOR_H
#define POST_PROCESSOR_H

#include "10_tokenizer/tokenizer_internal.h"

struct json_t;

/* `path` is the file's, for messages. */
void post_processor_read(Tokenizer *tokenizer, const char *path, const struct json_t *json);

#endif
