#include "11_generation/chat.h"
#include "common/error.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const Tokenizer *tokenizer;
    size_t count;
    int *ids;
} Turn;

static void add_token(Turn *turn, int id) {
    turn->ids = reallocate(turn->ids, (turn->count + 1) * sizeof *turn->ids);
    turn->ids[turn->count++] = id;
}

static void add_special(Turn *turn, const char *name) {
    int id = tokenizer_special(turn->tokenizer, name);
    if (id < 0) fail("--chat: the tokenizer has no %s, which a conversation needs: this is no chat model", name);
    add_token(turn, id);
}

/* Three strings, one after another, as one text. */
static void add_text(Turn *turn, const char *before, const char *text, const char *after) {
    char *whole;
    size_t count;
    int length = asprintf(&whole, "%s%s%s", before, text, after);
    if (length < 0) fail("out of memory for a message");
    int *ids = tokenizer_encode(turn->tokenizer, (size_t)length, whole, false, &count);
    for (size_t i = 0; i < count; i++) add_token(turn, ids[i]);
    free(ids), free(whole);
}

/* Without white space at both ends; the caller frees. */
static char *trimmed(const char *text) {
    while (isspace((unsigned char)*text)) text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
    return copy_text(text, length);
}

/* ------------------------------------------------------------------ Llama 3 */

static void add_header(Turn *turn, const char *role) {
    add_special(turn, "<|start_header_id|>");
    add_text(turn, role, "", "");
    add_special(turn, "<|end_header_id|>");
}

static void add_message(Turn *turn, const char *role, const char *message) {
    char *content = trimmed(message);
    add_header(turn, role);
    add_text(turn, "\n\n", content, "");
    add_special(turn, "<|eot_id|>");
    free(content);
}

static void llama3_turn(Turn *turn, bool first, const char *system, const char *user) {
    add_special(turn, first ? "<|begin_of_text|>" : "<|eot_id|>");
    if (first && system) add_message(turn, "system", system);
    add_message(turn, "user", user);
    add_header(turn, "assistant");
    add_text(turn, "\n\n", "", "");
}

/* ------------------------------------------------------------------ Llama 2 */

/* The system's message is a part of the first user's, and only its white space in the middle stays as it is. */
static void llama2_turn(Turn *turn, bool first, const char *system, const char *user) {
    char *whole;
    int length = first && system ? asprintf(&whole, "<<SYS>>\n%s\n<</SYS>>\n\n%s", system, user) : asprintf(&whole, "%s", user);
    if (length < 0) fail("out of memory for a message");
    char *content = trimmed(whole);
    if (!first) add_special(turn, "</s>");
    add_special(turn, "<s>");
    add_text(turn, "[INST] ", content, " [/INST]");
    free(content), free(whole);
}

int *chat_turn(const Tokenizer *tokenizer, bool first, const char *system, const char *user, size_t *count) {
    Turn turn = {.tokenizer = tokenizer};
    (tokenizer_byte_level(tokenizer) ? llama3_turn : llama2_turn)(&turn, first, system, user);
    *count = turn.count;
    return turn.ids;
}
