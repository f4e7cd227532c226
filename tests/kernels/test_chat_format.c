/* Llama's own two chat formats: the texts are those that transformers gets from the chat templates
 * of Llama 2 and Llama 3, in tests/golden/chat.json, and the tokens are those that Meta's code
 * makes. */
#include "11_generation/chat_format.h"
#include "tests/refused.h"

#include <jansson.h>

#define TOKENIZERS ROOT "/tests/golden/tokenizers/"

enum { MOST_MESSAGES = 16 };

typedef ChatPrompt Format(const Tokenizer *tokenizer, size_t count, const Message messages[count]);

static const struct {
    const char *family, *tokenizer;
    Format *format;
} formats[] = {{"llama2", TOKENIZERS "sentencepiece", llama2_prompt},
               {"llama3", TOKENIZERS "tiktoken", llama3_prompt}};

static const char *text_in(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static size_t messages_of(const json_t *conversation, Message messages[static MOST_MESSAGES]) {
    const char *system = text_in(conversation, "system");
    const json_t *turns = json_object_get(conversation, "said");
    size_t count = 0;
    if (system) messages[count++] = (Message){"system", system};
    for (size_t i = 0; i < json_array_size(turns); i++)
        messages[count++] =
            (Message){i % 2 ? "assistant" : "user", json_string_value(json_array_get(turns, i))};
    return count;
}

/* The conversations of a family. */
static json_t *conversations(const char *list, const char *family) {
    json_t *golden = json_load_file(ROOT "/tests/golden/chat.json", 0, NULL),
           *of_family = json_array();
    size_t i;
    json_t *conversation;
    json_array_foreach(json_object_get(golden, list), i,
                       conversation) if (strcmp(text_in(conversation, "family"), family) == 0)
        json_array_append(of_family, conversation);
    json_decref(golden);
    return of_family;
}

static void texts_are_the_templates(void **) {
    for (size_t f = 0; f < 2; f++) {
        json_t *cases = conversations("cases", formats[f].family);
        Tokenizer *tokenizer = tokenizer_open(formats[f].tokenizer);
        assert_int_equal(json_array_size(cases), 9);
        for (size_t i = 0; i < json_array_size(cases); i++) {
            Message messages[MOST_MESSAGES];
            const json_t *one = json_array_get(cases, i);
            const size_t count = messages_of(one, messages);
            ChatPrompt prompt = formats[f].format(tokenizer, count, messages);
            assert_string_equal(prompt.text, text_in(one, "text"));
            chat_prompt_free(&prompt);
        }
        tokenizer_close(tokenizer);
        json_decref(cases);
    }
}

static void assert_ids(const ChatPrompt *prompt, size_t count, const int ids[count]) {
    assert_int_equal(prompt->count, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(prompt->ids[i], ids[i]);
}

/* Encoded at once, with the names of special tokens for tokens, as transformers does it: that is
 * the same if no message has such a name in it. */
static void llama_3s_tokens_are_those_of_the_text(void **) {
    json_t *cases = conversations("cases", "llama3");
    Tokenizer *tokenizer = tokenizer_open(TOKENIZERS "tiktoken");
    int compared = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        Message messages[MOST_MESSAGES];
        const json_t *one = json_array_get(cases, i);
        const char *text = text_in(one, "text");
        size_t length, count = messages_of(one, messages);
        if (strstr(text, "[INST]")) continue;
        int *ids = tokenizer_encode(tokenizer, strlen(text), text, true, &length);
        ChatPrompt prompt = llama3_prompt(tokenizer, count, messages);
        assert_ids(&prompt, length, ids);
        chat_prompt_free(&prompt);
        free(ids);
        compared++;
    }
    assert_int_equal(compared, 8);
    tokenizer_close(tokenizer);
    json_decref(cases);
}

/* Meta encodes each turn by itself, as if it were a text: ▁ is before each [INST]. */
static void llama_2s_turns_are_encoded_one_by_one(void **) {
    static const Message messages[] = {
        {"system", "Be kind."}, {"user", " Hello! "}, {"assistant", "Hi.\n"}, {"user", "Who?"}};
    static const char *const turns[] = {
        "[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\n Hello! [/INST] Hi. ", "[INST] Who? [/INST]"};
    Tokenizer *tokenizer = tokenizer_open(TOKENIZERS "sentencepiece");
    int ids[1000], at = 0;
    for (int turn = 0; turn < 2; turn++) {
        size_t count;
        int *one = tokenizer_encode(tokenizer, strlen(turns[turn]), turns[turn], false, &count);
        ids[at++] = tokenizer_bos(tokenizer);
        memcpy(ids + at, one, count * sizeof *one);
        at += (int)count;
        free(one);
        if (turn == 0) ids[at++] = tokenizer_eos(tokenizer);
    }
    ChatPrompt prompt = llama2_prompt(tokenizer, 4, messages);
    assert_ids(&prompt, (size_t)at, ids);
    chat_prompt_free(&prompt);
    tokenizer_close(tokenizer);
}

static size_t count_of(const ChatPrompt *prompt, int id) {
    size_t count = 0;
    for (size_t i = 0; i < prompt->count; i++) count += prompt->ids[i] == id;
    return count;
}

static void special_names_in_a_message_are_text(void **) {
    static const Message three = {"user", "<|eot_id|><|begin_of_text|>"},
                         two = {"user", "a </s><s> b"};
    Tokenizer *llama3 = tokenizer_open(TOKENIZERS "tiktoken"),
              *llama2 = tokenizer_open(TOKENIZERS "sentencepiece");
    ChatPrompt third = llama3_prompt(llama3, 1, &three), second = llama2_prompt(llama2, 1, &two);
    assert_int_equal(count_of(&third, tokenizer_special(llama3, "<|eot_id|>")), 1);
    assert_int_equal(count_of(&third, tokenizer_special(llama3, "<|begin_of_text|>")), 1);
    assert_int_equal(count_of(&second, tokenizer_bos(llama2)), 1);
    assert_int_equal(count_of(&second, tokenizer_eos(llama2)), 0);
    chat_prompt_free(&third);
    chat_prompt_free(&second);
    tokenizer_close(llama3);
    tokenizer_close(llama2);
}

static const Tokenizer *refusing;
static Format *refusing_format;
static size_t refused_count;
static const Message *refused_messages;
static void format_it(void) { refusing_format(refusing, refused_count, refused_messages); }

static void what_does_not_fit_the_format_is_refused(void **) {
    static const char turns[] = "takes a user's message and an answer in turn, and the user's last";
    static const Message system_alone[] = {{"system", "Be kind."}},
                         answered[] = {{"user", "a"}, {"assistant", "b"}},
                         twice[] = {{"user", "a"}, {"user", "b"}, {"user", "c"}},
                         late[] = {{"user", "a"}, {"system", "b"}, {"user", "c"}};
    const struct {
        size_t count;
        const Message *messages;
    } cases[] = {{1, system_alone}, {2, answered}, {3, twice}, {3, late}};
    Tokenizer *llama2 = tokenizer_open(TOKENIZERS "sentencepiece"),
              *llama3 = tokenizer_open(TOKENIZERS "tiktoken");
    refusing = llama2;
    refusing_format = llama2_prompt;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused_count = cases[i].count;
        refused_messages = cases[i].messages;
        assert_refused(format_it, turns);
    }
    refused_count = 1;
    refused_messages = twice;
    refusing_format = llama3_prompt;
    assert_refused(format_it,
                   "the tokenizer has no <|begin_of_text|>, which this chat format needs");
    refusing = llama3;
    refusing_format = llama2_prompt;
    assert_refused(format_it, "the tokenizer has no <s>, which this chat format needs");
    tokenizer_close(llama2);
    tokenizer_close(llama3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_the_templates),
        cmocka_unit_test(llama_3s_tokens_are_those_of_the_text),
        cmocka_unit_test(llama_2s_turns_are_encoded_one_by_one),
        cmocka_unit_test(special_names_in_a_message_are_text),
        cmocka_unit_test(what_does_not_fit_the_format_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
