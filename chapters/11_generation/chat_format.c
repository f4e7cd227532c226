#include "11_generation/chat_format.h"
#include "11_generation/white_space.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ a prompt that grows */

static void add_ids(ChatPrompt *prompt, size_t count, const int *ids) {
    prompt->ids = xrealloc(prompt->ids, (prompt->count + count + 1) * sizeof *ids);
    if (count) memcpy(prompt->ids + prompt->count, ids, count * sizeof *ids);
    prompt->count += count;
}

static void add_letters(ChatPrompt *prompt, size_t length, const char *letters) {
    const size_t before = prompt->text ? strlen(prompt->text) : 0;
    prompt->text = xrealloc(prompt->text, before + length + 1);
    memcpy(prompt->text + before, letters, length);
    prompt->text[before + length] = '\0';
}

static void add_special(ChatPrompt *prompt, const Tokenizer *tokenizer, const char *name) {
    const int id = tokenizer_special(tokenizer, name);
    if (id < 0)
        fail("the tokenizer has no %s, which this chat format needs: is it a chat model's?", name);
    add_ids(prompt, 1, &id);
    add_letters(prompt, strlen(name), name);
}

static void add_text(ChatPrompt *prompt, const Tokenizer *tokenizer, const char *text) {
    size_t count;
    int *ids = tokenizer_encode(tokenizer, strlen(text), text, false, &count);
    add_ids(prompt, count, ids);
    add_letters(prompt, strlen(text), text);
    free(ids);
}

void chat_prompt_free(ChatPrompt *prompt) {
    free(prompt->ids);
    free(prompt->text);
}

/* ------------------------------------------------------------------ text */

/* The content of a message without white space around it. The caller frees. */
static char *stripped(const char *content) {
    size_t length = strlen(content), n;
    while ((n = white_space_at(length, content, false)) > 0) {
        content += n;
        length -= n;
    }
    while ((n = white_space_at(length, content, true)) > 0) length -= n;
    return xstrndup(content, length);
}

/* The texts one after another. The caller frees. */
static char *concatenated(const char *first, const char *second, const char *third,
                          const char *fourth) {
    char *text;
    if (asprintf(&text, "%s%s%s%s", first, second, third, fourth) < 0)
        fail("out of memory for a message");
    return text;
}

/* ------------------------------------------------------------------ Llama 2 */

static bool is_role(const Message *message, const char *role) {
    return strcmp(message->role, role) == 0;
}

static void check_turns(size_t count, const Message *messages) {
    bool alternate = count % 2 == 1;
    for (size_t i = 0; i < count; i++)
        alternate = alternate && is_role(&messages[i], i % 2 ? "assistant" : "user");
    if (!alternate)
        fail("Llama 2's chat format takes a user's message and an answer in turn, and the user's "
             "last");
}

/* "[INST] … [/INST]", with the system message inside, if there is one; and the answer, if there is
 * one. */
static char *llama2_turn(const char *system, const char *user, const char *answer) {
    char *told = system ? concatenated("<<SYS>>\n", system, "\n<</SYS>>\n\n", user)
                        : concatenated("", "", "", user);
    char *asked = stripped(told), *answered = answer ? stripped(answer) : NULL;
    char *question = concatenated("[INST] ", asked, " [/INST]", answer ? " " : "");
    char *turn = concatenated(question, answer ? answered : "", answer ? " " : "", "");
    free(told);
    free(asked);
    free(answered);
    free(question);
    return turn;
}

ChatPrompt llama2_prompt(const Tokenizer *tokenizer, size_t count, const Message messages[count]) {
    ChatPrompt prompt = {0};
    const char *system = count && is_role(messages, "system") ? messages[0].content : NULL;
    const size_t first = system ? 1 : 0;
    check_turns(count - first, messages + first);
    for (size_t i = first; i < count; i += 2) {
        const bool answered = i + 1 < count;
        char *turn = llama2_turn(i == first ? system : NULL, messages[i].content,
                                 answered ? messages[i + 1].content : NULL);
        add_special(&prompt, tokenizer, "<s>");
        add_text(&prompt, tokenizer, turn);
        if (answered) add_special(&prompt, tokenizer, "</s>");
        free(turn);
    }
    return prompt;
}

/* ------------------------------------------------------------------ Llama 3 */

static void add_header(ChatPrompt *prompt, const Tokenizer *tokenizer, const char *role) {
    add_special(prompt, tokenizer, "<|start_header_id|>");
    add_text(prompt, tokenizer, role);
    add_special(prompt, tokenizer, "<|end_header_id|>");
    add_text(prompt, tokenizer, "\n\n");
}

ChatPrompt llama3_prompt(const Tokenizer *tokenizer, size_t count, const Message messages[count]) {
    ChatPrompt prompt = {0};
    add_special(&prompt, tokenizer, "<|begin_of_text|>");
    for (size_t i = 0; i < count; i++) {
        char *content = stripped(messages[i].content);
        add_header(&prompt, tokenizer, messages[i].role);
        add_text(&prompt, tokenizer, content);
        add_special(&prompt, tokenizer, "<|eot_id|>");
        free(content);
    }
    add_header(&prompt, tokenizer, "assistant");
    return prompt;
}
