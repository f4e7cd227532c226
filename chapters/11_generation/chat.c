#include "11_generation/chat.h"
#include "common/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void add_bos(Turn *turn) {
    if (tokenizer_bos(turn->tokenizer) < 0)
        fail("--chat: the tokenizer has no BOS, which a conversation needs: this is no chat model");
    add_token(turn, tokenizer_bos(turn->tokenizer));
}

/* Three strings, one after another, as one text. */
static void add_text(Turn *turn, const char *before, const char *text, const char *after) {
    char *whole;
    size_t count;
    int length = asprintf(&whole, "%s%s%s", before, text, after);
    if (length < 0) fail("out of memory for a message");
    int *ids = tokenizer_encode_after(turn->tokenizer, (size_t)length, whole, &count);
    for (size_t i = 0; i < count; i++) add_token(turn, ids[i]);
    free(ids), free(whole);
}

/* What the templates' `trim` takes away: Python's white space. */
static const char *const spaces[] = {
    " ", "\t", "\n", "\v", "\f", "\r", "\x1c", "\x1d", "\x1e", "\x1f",
    "\xc2\x85", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

/* The bytes of the white space that a text begins with, or ends with; 0 if there is none. */
static size_t space(size_t length, const char text[length], bool at_end) {
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        size_t n = strlen(spaces[i]);
        if (n <= length && memcmp(at_end ? text + length - n : text, spaces[i], n) == 0) return n;
    }
    return 0;
}

/* Without white space at both ends; the caller frees. */
static char *trimmed(const char *text) {
    size_t length = strlen(text), n;
    while ((n = space(length, text, false)) > 0) text += n, length -= n;
    while ((n = space(length, text, true)) > 0) length -= n;
    return copy_text(text, length);
}

/* ------------------------------------------------------------------ Llama 3 */

static void add_header(Turn *turn, const char *role) {
    add_special(turn, "<|start_header_id|>");
    add_text(turn, role, "", "");
    add_special(turn, "<|end_header_id|>");
}

/* `before` goes before the message, and is not trimmed. */
static void add_message(Turn *turn, const char *role, const char *before, const char *message) {
    char *content = trimmed(message);
    add_header(turn, role);
    add_text(turn, before, content, "");
    add_special(turn, "<|eot_id|>");
    free(content);
}

static void add_system(Turn *turn, const char *date, const char *system) {
    if (!date) {
        if (system) add_message(turn, "system", "\n\n", system);
        return;
    }
    char *dates;
    if (asprintf(&dates, "\n\nCutting Knowledge Date: December 2023\nToday Date: %s\n\n", date) < 0)
        fail("out of memory for a message");
    add_message(turn, "system", dates, system ? system : "");
    free(dates);
}

static void llama3_turn(Turn *turn, bool first, const char *date, const char *system, const char *user) {
    if (first) add_bos(turn), add_system(turn, date, system);
    else add_special(turn, "<|eot_id|>");
    add_message(turn, "user", "\n\n", user);
    add_header(turn, "assistant");
    add_text(turn, "\n\n", "", "");
}

/* ------------------------------------------------------------------ Llama 2 */

/* The system's message is a part of the first user's, and only its white space in the middle stays as it is. */
static void llama2_turn(Turn *turn, bool first, const char *system, const char *user) {
    char *whole = copy_text(user, strlen(user));
    if (first && system) {
        free(whole);
        if (asprintf(&whole, "<<SYS>>\n%s\n<</SYS>>\n\n%s", system, user) < 0) fail("out of memory for a message");
    }
    char *content = trimmed(whole);
    if (!first) add_special(turn, "</s>");
    add_bos(turn);
    add_text(turn, "[INST] ", content, " [/INST]");
    free(content), free(whole);
}

/* ------------------------------------------------------------------ either */

const char *chat_date(const Config *config, char date[static 32]) {
    enum { LLAMA_3_2 = 32 };
    const RopeParameters *rope = &config->rope;
    if (rope->rope_type != ROPE_LLAMA3 && rope->rope_type != ROPE_FACTORS) return NULL;
    double factor = rope->rope_type == ROPE_LLAMA3 ? rope->factor : rope->factors[config->D / 2 - 1]; /* of the slowest pair */
    if (lround(factor) != LLAMA_3_2) return "26 Jul 2024";
    time_t now = time(NULL);
    struct tm today;
    strftime(date, 32, "%d %b %Y", localtime_r(&now, &today));
    return date;
}

int *chat_turn(const Tokenizer *tokenizer, bool first, const char *date, const char *system, const char *user,
               size_t *count) {
    Turn turn = {.tokenizer = tokenizer};
    if (tokenizer_byte_level(tokenizer)) llama3_turn(&turn, first, date, system, user);
    else llama2_turn(&turn, first, system, user);
    *count = turn.count;
    return turn.ids;
}
