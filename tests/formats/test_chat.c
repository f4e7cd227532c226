/* Conversations are what transformers' apply_chat_template makes of them, by the model's own
 * template and by the forms that have a name; and `llama --chat` talks so. Jinja: test_jinja.c.
 *
 *     build/tests/test_chat [CASES.json]   other conversations than tests/golden/chat.json: see
 * tests/golden/chat.py */
#include "14_engine/chat/chat.h"
#include "14_engine/chat/chat_templates.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/error.h"
#include "common/gguf.h"
#include "common/safetensors.h"
#define PROGRAM "'" BUILD "/llama'"
#include "tests/program.h"
#include "tests/refused.h"

#include <jansson.h>

static const char stories[] = ROOT "/common/stories/model";
static const char *cases_path = ROOT "/tests/golden/chat.json";

/* ------------------------------------------------------------------ what the templates write */

enum { MOST_MESSAGES = 16 };

static size_t messages_of(const json_t *c, Message messages[static MOST_MESSAGES]) {
    static const char *const roles[] = {"user", "assistant"};
    const char *system = json_string_value(json_object_get(c, "system"));
    const json_t *said_in_turn = json_object_get(c, "said");
    size_t count = 0;
    if (system) messages[count++] = (Message){"system", system};
    for (size_t i = 0; i < json_array_size(said_in_turn); i++)
        messages[count++] =
            (Message){roles[i % 2], json_string_value(json_array_get(said_in_turn, i))};
    return count;
}

static const char *text_in(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static Template template_of(const json_t *golden, const json_t *c) {
    const json_t *t = json_object_get(json_object_get(golden, "templates"), text_in(c, "family"));
    return (Template){.path = text_in(c, "family"),
                      .source = text_in(t, "source"),
                      .bos = text_in(t, "bos"),
                      .eos = text_in(t, "eos"),
                      .date = text_in(c, "date")};
}

/* The day on which this runs, by another program's clock. */
static void read_today(char today[static 32]) {
    FILE *clock = popen("LC_ALL=C date '+%d %b %Y'", "r");
    assert_non_null(fgets(today, 32, clock));
    today[strcspn(today, "\n")] = '\0';
    pclose(clock);
}

/* "<today>" stands where a template asks the clock; it may have been midnight, so either day will
 * do. */
static void assert_writes(const Template *template, size_t count, const Message messages[count],
                          const char *expected) {
    char day[2][32], with_day[8192];
    const char *gap = strstr(expected, "<today>");
    if (gap) read_today(day[0]);
    Rendered got = template_render(template, count, messages);
    if (gap) read_today(day[1]);
    bool same = false;
    for (int i = 0; i < (gap ? 2 : 1) && !same; i++) {
        if (gap)
            snprintf(with_day, sizeof with_day, "%.*s%s%s", (int)(gap - expected), expected, day[i],
                     gap + strlen("<today>"));
        const char *right = gap ? with_day : expected;
        same = got.length == strlen(right) && memcmp(got.letters, right, got.length) == 0;
    }
    if (!same)
        fail_msg("%s writes\n%.*s\nnot\n%s", template->path, (int)got.length, got.letters,
                 expected);
    rendered_free(&got);
}

static const Template *refused_template;
static const Message *refused_messages;
static size_t refused_count;
static void render_what_is_refused(void) {
    template_render(refused_template, refused_count, refused_messages);
}

static void assert_template_refuses(const Template *template, size_t count,
                                    const Message messages[count], const char *words) {
    refused_template = template;
    refused_messages = messages;
    refused_count = count;
    assert_refused(render_what_is_refused, words);
}

static const ChatTemplate *form_if_any(const char *name) {
    int f = 0;
    while (chat_template_at(f) && strcmp(chat_template_at(f)->name, name) != 0) f++;
    return chat_template_at(f);
}

static void conversations_are_the_templates(void **) {
    json_t *golden = json_load_file(cases_path, 0, NULL);
    const json_t *cases = json_object_get(golden, "cases");
    size_t by_form = 0, refused = 0;
    assert_true(json_array_size(cases) > 100);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        Message messages[MOST_MESSAGES];
        size_t count = messages_of(c, messages);
        Template template = template_of(golden, c);
        const char *expected = text_in(c, "text");
        const ChatTemplate *form = form_if_any(template.path);
        if (!expected) { /* a template may want users and assistants in turn, or no system */
            if (refused++ < 20)
                assert_template_refuses(&template, count, messages,
                                        "it refuses this conversation: ");
            continue;
        }
        assert_writes(&template, count, messages, expected);
        if (!form) continue;
        template.source = form->template;
        assert_writes(&template, count, messages, expected);
        by_form++;
    }
    print_message("%zu conversations, %zu by forms with a name too, %zu refused\n",
                  json_array_size(cases), by_form, refused);
    assert_true(by_form > json_array_size(cases) / 2 && refused > 0);
    for (int f = 0; chat_template_at(f); f++)
        assert_non_null(
            json_object_get(json_object_get(golden, "templates"), chat_template_at(f)->name));
    json_decref(golden);
}

static void their_tokens_are_transformers(void **) {
    json_t *golden = json_load_file(cases_path, 0, NULL);
    const json_t *cases = json_object_get(golden, "encoded");
    const char *open = "";
    Tokenizer *tokenizer = NULL;
    assert_true(json_array_size(cases) > 40);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i), *right = json_object_get(c, "ids");
        if (strcmp(open, text_in(c, "tokenizer")) != 0) {
            if (tokenizer) tokenizer_close(tokenizer);
            tokenizer =
                tokenizer_open_any(AT("%s/tests/golden/%s", ROOT, open = text_in(c, "tokenizer")));
        }
        Message messages[MOST_MESSAGES];
        size_t count, said_count = messages_of(c, messages);
        Chat chat = {.tokenizer = tokenizer, .template = template_of(golden, c)};
        int *ids = chat_tokens(&chat, said_count, messages, &count);
        bool same = count == json_array_size(right);
        for (size_t t = 0; same && t < count; t++)
            same = ids[t] == json_integer_value(json_array_get(right, t));
        if (!same)
            fail_msg("%s, %s, \"%s\": %zu tokens, not transformers' %zu", open,
                     text_in(c, "family"), messages[0].content, count, json_array_size(right));
        free(ids);
    }
    tokenizer_close(tokenizer);
    json_decref(golden);
}

/* ------------------------------------------------------------------ whose template it is */

static const Message hello[] = {{"user", " Hello! "}, {"assistant", "Hi."}, {"user", "Who?"}};

static const Config plain = {.rope = {.rope_type = ROPE_DEFAULT}};

static void assert_chat_is(const char *path, const Tokenizer *tokenizer, const char *form,
                           const char *expected) {
    Chat chat = chat_open(path, tokenizer, &plain, form, NULL);
    assert_string_equal(chat.template.source, expected);
    assert_null(chat.form);
    chat_close(&chat);
}

static void the_models_own_template_counts(void **) {
    Tokenizer *tokenizer = tokenizer_open(stories);
    assert_shell("mkdir %s/own", folder);
    const char *own = AT("%s/own", folder);
    write_text("own/tokenizer_config.json",
               "{\"chat_template\": \"{{ eos_token }}\", \"eos_token\": {\"content\": \"<end>\"},"
               "\"model_max_length\": 1000000000000000019884624838656}");
    assert_chat_is(own, tokenizer, NULL, "{{ eos_token }}");
    Chat chat = chat_open(own, tokenizer, &plain, NULL, NULL);
    assert_string_equal(chat.template.eos, "<end>");
    assert_string_equal(chat.template.bos, "<s>");
    chat_close(&chat);
    write_text("own/tokenizer_config.json",
               "{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"a\"}, {\"name\": "
               "\"default\", \"template\": \"b\"}]}");
    assert_chat_is(own, tokenizer, NULL, "b");
    write_text(
        "own/tokenizer_config.json",
        "{\"chat_template\": [{\"name\": \"EN\", \"template\": \"a\"}], \"eos_token\": \"<end>\"}");
    chat = chat_open(own, tokenizer, &plain, "zephyr", NULL); /* whatever the folder has */
    assert_string_equal(chat.template.eos, "<end>");
    chat_close(&chat);
    write_text("own/chat_template.jinja",
               "c"); /* which counts more than a list without a default */
    assert_chat_is(own, tokenizer, NULL, "c");
    write_text("own/tokenizer_config.json", "{}");
    assert_chat_is(own, tokenizer, NULL, "c");
    chat = chat_open(own, tokenizer, &plain, "zephyr", NULL);
    assert_string_equal(chat.template.source, chat_template_named("zephyr")->template);
    assert_string_equal(chat.form, "zephyr");
    assert_string_equal(chat.template.eos, "</s>");
    chat_close(&chat);

    GgufPairs pairs = {0};
    gguf_add_text(&pairs, "tokenizer.chat_template", "{{ 'gguf' }}");
    gguf_save(AT("%s/own.gguf", folder), pairs.count, pairs.pairs, 0, NULL, NULL, NULL);
    assert_chat_is(AT("%s/own.gguf", folder), tokenizer, NULL, "{{ 'gguf' }}");
    gguf_pairs_free(&pairs);
    tokenizer_close(tokenizer);
}

static const Tokenizer *refused_tokenizer;
static const char *refused_path;
static void open_what_is_refused(void) {
    chat_open(refused_path, refused_tokenizer, &plain, NULL, NULL);
}

static void what_is_no_template_is_named(void **) {
    static const char no_template[] = "neither a text nor a list with one that is called default";
    static const char no_form[] =
        "it has no chat_template, and no tokens that show how it is talked to";
    const char *const cases[][2] = {
        {"{\"chat_template\": 3}", no_template},
        {"{\"chat_template\": []}", no_template},
        {"{\"chat_template\": [3, {}, {\"name\": 3, \"template\": \"a\"}]}", no_template},
        {"{\"chat_template\": [{\"name\": \"default\", \"template\": 3}]}", no_template},
        {"{\"chat_template\": {\"default\": \"a\"}}", no_template},
        {"{\"chat_template\": null}", no_form},
        {"{\"eos_token\": 3}", no_form},
        {"{\"chat_template\"", "tokenizer_config.json"},
    };
    Tokenizer *tokenizer = tokenizer_open(stories);
    refused_tokenizer = tokenizer;
    assert_shell("mkdir %s/refused", folder);
    char path[PATH];
    refused_path = text(path, "%s/refused", folder);
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_text("refused/tokenizer_config.json", cases[i][0]);
        assert_refused(open_what_is_refused, cases[i][1]);
    }
    static const char *const links[] = {"chat_template.jinja", "tokenizer_config.json"};
    for (size_t i = 0; i < COUNT(links); i++) {
        assert_shell("cd %s/refused && rm * && ln -s /nowhere/it %s", folder, links[i]);
        assert_refused(open_what_is_refused,
                       AT("%s: it is a link, and what it points to is not there", links[i]));
    }
    GgufPairs pairs = {0};
    gguf_add_u32(&pairs, "tokenizer.chat_template", 3);
    gguf_save(text(path, "%s/refused.gguf", folder), pairs.count, pairs.pairs, 0, NULL, NULL, NULL);
    assert_refused(open_what_is_refused, no_form);
    char longest[5000];
    memset(longest, '/', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refused_path = longest;
    assert_refused(open_what_is_refused, "…: the path is too long");
    gguf_pairs_free(&pairs);
    tokenizer_close(tokenizer);
}

/* The tokenizers of Llama 3 to 3.3 are alike: RoPE's scaling shows which one it is. */
static void llamas_own_forms_are_known_by_the_model(void **) {
    static const struct {
        RopeParameters rope;
        const char *form;
    } cases[] = {{{.rope_type = ROPE_DEFAULT}, "llama3"},
                 {{.rope_type = ROPE_LINEAR, .factor = 32}, "llama3"},
                 {{.rope_type = ROPE_LLAMA3, .factor = 8}, "llama3.1"},
                 {{.rope_type = ROPE_LLAMA3, .factor = 32}, "llama3.2"}};
    Tokenizer *llama3 = tokenizer_open(ROOT "/tests/golden/tokenizers/tiktoken");
    for (size_t i = 0; i < COUNT(cases); i++) {
        Chat chat = chat_open(folder, llama3, &(Config){.rope = cases[i].rope}, NULL, NULL);
        assert_string_equal(chat.template.source, chat_template_named(cases[i].form)->template);
        assert_string_equal(chat.form, cases[i].form);
        chat_close(&chat);
    }
    tokenizer_close(llama3);
    Tokenizer *smollm = tokenizer_open_any(ROOT "/tests/golden/foreign_tokenizers/smollm.json");
    Chat chat = chat_open(folder, smollm, &plain, NULL, NULL);
    assert_string_equal(chat.form, "chatml");
    chat_close(&chat);
    tokenizer_close(smollm);
}

/* In Llama 2's form ▁ stands before [INST], unless the tokenizer.json puts it only where a text
 * begins. */
static void a_turn_begins_as_the_tokenizer_has_it(void **) {
    static const struct {
        const char *name;
        bool prefix;
    } kinds[] = {{"sentencepiece", true}, {"prepend", true}, {"metaspace", false}};
    for (int i = 0; i < 3; i++) {
        /* The committed ones have [INST] for a token of its own: not so here. */
        assert_shell("cd %s && mkdir %s && cp '%s/tests/golden/tokenizers/%s/'* %s && cd %s && "
                     "for f in *.json; do [ ! -f $f ] || sed -i 's/\\[INST\\]/[OTHER]/g' $f; done",
                     folder, kinds[i].name, ROOT, kinds[i].name, kinds[i].name, kinds[i].name);
        Tokenizer *t = tokenizer_open_any(AT("%s/%s", folder, kinds[i].name));
        Chat chat = chat_open(folder, t, &plain, "llama2", NULL);
        size_t count, length;
        int *ids = chat_tokens(&chat, 1, hello, &count);
        assert_int_equal(ids[0], tokenizer_bos(t));
        const char *piece = tokenizer_piece(t, ids[1], &length);
        assert_int_equal(length >= 3 && memcmp(piece, "▁", 3) == 0, kinds[i].prefix);
        free(ids);
        chat_close(&chat);
        tokenizer_close(t);
    }
}

static int ends_in(const Chat *chat, const Message *message) {
    size_t count;
    int *ids = chat_tokens(chat, 1, message, &count), ends = 0;
    for (size_t i = 0; i < count; i++)
        ends += ids[i] == tokenizer_special(chat->tokenizer, "<|eot_id|>");
    free(ids);
    return ends;
}

static void what_a_user_writes_stays_text(void **) {
    static const Message spells = {"user", "<|eot_id|>"}, trims = {"user", " a <|eot_id|>\n"};
    Tokenizer *llama3 = tokenizer_open(ROOT "/tests/golden/tokenizers/tiktoken");
    Chat chat = chat_open(folder, llama3, &plain, "llama3", NULL),
         dated = chat_open(folder, llama3, &plain, "llama3.1", "<|eot_id|>");
    assert_int_equal(ends_in(&chat, hello), 1);
    assert_int_equal(ends_in(&chat, &spells), 1);
    assert_int_equal(ends_in(&chat, &trims), 1);
    assert_int_equal(ends_in(&dated, hello), 2); /* a --date */
    chat_close(&chat);
    chat_close(&dated);
    tokenizer_close(llama3);
}

/* ------------------------------------------------------------------ llama */

/* A model of zeros, with as many tokens as the tokenizer of Llama 3 that we have, and with RoPE as
 * Llama 3.1 has it. */
static void make_dated_model(void) {
    enum { V = 1700 };
    SafeTensors file = safetensors_open(AT("%s/model.safetensors", stories));
    Tensor tensors[file.count];
    memcpy(tensors, file.tensors, sizeof tensors);
    for (size_t i = 0; i < file.count; i++) {
        if (strcmp(tensors[i].name, "model.embed_tokens.weight") != 0) continue;
        tensors[i].shape[0] = V;
        tensors[i].data = calloc(tensor_count(&tensors[i]), sizeof(uint16_t));
    }
    assert_shell("mkdir -p %s/dated", folder);
    safetensors_save(AT("%s/dated/model.safetensors", folder), file.count, tensors, 0, NULL);
    for (size_t i = 0; i < file.count; i++)
        if (strcmp(tensors[i].name, "model.embed_tokens.weight") == 0)
            free((void *)tensors[i].data);
    safetensors_close(&file);
    assert_shell("cp '%s/tests/golden/tokenizers/tiktoken/tokenizer.model' %s/dated/", ROOT,
                 folder);
    assert_shell("sed -e 's/\"vocab_size\": 1024/\"vocab_size\": %d/' -e 's/\"rope_type\": "
                 "\"default\"/\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": "
                 "1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 256/' "
                 "'%s/config.json' >%s/dated/config.json",
                 V, stories, folder);
}

static size_t tokens_of(const Tokenizer *tokenizer, const char *form, const char *date) {
    static const Message messages[] = {{"system", "Be kind."}, {"user", "Hello!"}};
    size_t count;
    Chat chat = chat_open(folder, tokenizer, &plain, form, date);
    free(chat_tokens(&chat, 2, messages, &count));
    chat_close(&chat);
    return count;
}

/* How many tokens it reads says what it was told. */
static void llama_is_told_the_date(void **) {
    static const char long_ago[] = "the first day of the first year";
    Tokenizer *llama3 = tokenizer_open(ROOT "/tests/golden/tokenizers/tiktoken");
    size_t own = tokens_of(llama3, "llama3.1", NULL),
           said_so = tokens_of(llama3, "llama3.1", long_ago),
           none = tokens_of(llama3, "llama3", NULL);
    assert_true(own != said_so && own != none && said_so != none);
    make_dated_model();
    write_text("hello", "Hello!\n");
    assert_runs("--model dated --chat --system-prompt 'Be kind.' --max-tokens 0 <hello");
    assert_said(AT("prompt: %zu tokens,", own));
    assert_runs("--model dated --chat --date '%s' --system-prompt 'Be kind.' --max-tokens 0 <hello",
                long_ago);
    assert_said(AT("prompt: %zu tokens,", said_so));
    assert_runs("--model dated --chat --chat-template llama3 --system-prompt 'Be kind.' "
                "--max-tokens 0 <hello");
    assert_said(AT("prompt: %zu tokens,", none));
    tokenizer_close(llama3);
}

/* The trained model answers by its template, whatever that is: this one only repeats the last thing
 * said. */
static void a_template_decides_what_is_read(void **) {
    assert_shell("mkdir %s/asked && cp -r '%s'/* %s/asked/", folder, stories, folder);
    write_text("asked/chat_template.jinja", "{{ bos_token }}{{ messages[-1].content }}");
    write_text("once", "Once upon a time\n");
    assert_runs("--prompt 'Once upon a time' --temperature 0 --max-tokens 8 --quiet");
    char told[sizeof said];
    strcpy(told, said + strlen("Once upon a time "));
    assert_runs("--model asked --chat --temperature 0 --max-tokens 8 --quiet <once");
    assert_string_equal(said, told);
    assert_runs("--chat --max-tokens 3 <once");
    assert_said("note: the model has no chat_template, and is talked to as llama2; --chat-template "
                "NAME takes another form\n");
    assert_runs("--chat --chat-template mistral --max-tokens 3 <once");
    assert_null(strstr(said, "note:"));
    assert_runs("--model asked --chat --max-tokens 3 <once");
    assert_null(strstr(said, "note:"));
    static const char *const no_text[][2] = {
        {"", "its chat template makes nothing of this conversation"},
        {"a\\0b", "it has a NUL in it: this is no text"}};
    for (size_t i = 0; i < COUNT(no_text); i++) {
        assert_shell("printf '%s' >%s/asked/chat_template.jinja", no_text[i][0], folder);
        assert_error(run("--model asked --chat --max-tokens 3 --quiet <once"),
                     AT("asked/chat_template.jinja: %s (--chat-template NAME takes another)",
                        no_text[i][1]));
    }
    /* Without a template there may be tokens that show the form; otherwise none is guessed. */
    assert_runs("--model dated --chat --max-tokens 0 <once");
    assert_said("talked to as llama3.1; ");
    static const char *const no_template[] = {"{}", "{\"chat_template\": null}"};
    for (size_t i = 0; i < COUNT(no_template); i++) {
        assert_shell("rm -f %s/asked/chat_template.jinja", folder);
        write_text("asked/tokenizer_config.json", no_template[i]);
        assert_error(run("--model asked --chat --max-tokens 3 <once"),
                     "asked: it has no chat_template, and no tokens that show how it is talked to: "
                     "--chat-template NAME says so, if it is a chat model (llama2, ");
        assert_runs("--model asked --chat --chat-template mistral --max-tokens 3 --quiet <once");
    }

    write_text("asked/chat_template.jinja", "{% filter upper %}{% endfilter %}");
    assert_error(run("--model asked --chat --max-tokens 3 <once"),
                 "chat_template.jinja: its chat template, line 1: {% filter %} is not known here "
                 "(--chat-template NAME takes another)");
    assert_runs("--model asked --chat --chat-template zephyr --max-tokens 3 --quiet <once");
    write_text("asked/chat_template.jinja", "{{ raise_exception('Not today.') }}");
    assert_int_equal(run("--model asked --chat --max-tokens 3 <once"), 1);
    assert_said("it refuses this conversation: Not today.");
    assert_error(run("--chat --chat-template gemma <once"),
                 "--chat-template gemma: it must be one of llama2, llama3, llama3.1, llama3.2, "
                 "chatml, zephyr, vicuna, alpaca, mistral");
    assert_int_equal(run("--chat --chat-template chatml <once"), 1);
    assert_said("the tokenizer has no <|im_start|>, which the form chatml needs");
}

/* Every line is a turn; one that ends with \ goes on in the next. */
static void a_message_may_have_several_lines(void **) {
    write_text("asked/chat_template.jinja",
               "{{ bos_token }}{{ messages | length }}{{ messages[-1].content }}");
    write_text("one",
               "a\\\nb\\\nc\rc\r\n\n \nd\n"); /* what stands behind an odd character is not lost */
    assert_runs("--model asked --chat --max-tokens 0 <one");
    Tokenizer *tokenizer = tokenizer_open(stories);
    size_t first, second, same = 0;
    int *one = tokenizer_encode(tokenizer, 8, "1a\nb\nc\rc", false, &first),
        *other = tokenizer_encode(tokenizer, 2, "3d", false, &second);
    while (one[same] == other[same]) same++;
    /* What the second begins with was read with the first. */
    assert_said(AT("prompt: %zu tokens,", 1 + first + second - same));
    free(one);
    free(other);
    assert_runs("--model asked --chat --max-tokens 0 <one | wc -l");
    assert_said("\n2\n");
    tokenizer_close(tokenizer);
}

/* In a context of 60 tokens old turns make place: between answers, and in the middle of one. The
 * system's message stays. */
static void a_full_chat_forgets_its_oldest_turns(void **) {
    write_text("asked/chat_template.jinja",
               "{{ bos_token }}{% for m in messages %}{{ m.content }}\n{% endfor %}");
    write_text("long", "Once upon a time there was Anna, a brave fox.\nShe was in the forest.\nShe "
                       "was in the forest.\n"
                       "She was in the forest.\nWho?\n");
    static const char ask[] =
        "--model asked --chat --system-prompt 'Be kind.' --temperature 0 --ignore-eos --quiet";
    assert_runs("%s --ctx-size 60 --max-tokens 12 <long", ask);
    assert_said("\nnote: the context of 60 tokens is full: the oldest 1 turn is forgotten\n");
    assert_runs("%s --ctx-size 60 --max-tokens 30 <long 2>/dev/null", ask);
    int lines = 0;
    for (const char *c = said; *c; c++) lines += *c == '\n';
    assert_true(lines >= 5); /* every turn was answered */
    assert_runs("%s --ctx-size 500 --max-tokens 2 <long", ask);
    assert_null(strstr(said, "note:"));
    assert_runs("%s --ctx-size 30 --max-tokens 100 <once", ask); /* nothing to forget */
    assert_said("\nnote: the context of 30 tokens is full\n");
    assert_int_equal(run("%s --ctx-size 10 --max-tokens 100 <long", ask), 1);
    assert_said("tokens are more than a context of 10 has room for, which --ctx-size widens");
    /* What is read after forgetting is what a conversation without that turn would read. */
    write_text("second", "She was in the forest.\n");
    write_text("both", "Tom?\nShe was in the forest.\n");
    assert_runs("%s --ctx-size 200 --max-tokens 16 <second", ask);
    char alone[sizeof said];
    strcpy(alone, said);
    assert_runs("%s --ctx-size 36 --max-tokens 16 <both 2>/dev/null", ask);
    if (!strstr(said, alone))
        fail_msg("after a turn is forgotten it says\n%s\nand not\n%s", said, alone);
}

int main(int argc, char **argv) {
    const struct CMUnitTest more[] = {cmocka_unit_test(conversations_are_the_templates),
                                      cmocka_unit_test(their_tokens_are_transformers)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversations_are_the_templates),
        cmocka_unit_test(their_tokens_are_transformers),
        cmocka_unit_test(the_models_own_template_counts),
        cmocka_unit_test(what_is_no_template_is_named),
        cmocka_unit_test(llamas_own_forms_are_known_by_the_model),
        cmocka_unit_test(a_turn_begins_as_the_tokenizer_has_it),
        cmocka_unit_test(what_a_user_writes_stays_text),
        cmocka_unit_test(llama_is_told_the_date),
        cmocka_unit_test(a_template_decides_what_is_read),
        cmocka_unit_test(a_message_may_have_several_lines),
        cmocka_unit_test(a_full_chat_forgets_its_oldest_turns),
    };
    if (argc > 1) {
        cases_path = argv[1];
        return cmocka_run_group_tests_name("conversations", more, make_folder, remove_folder) != 0;
    }
    return cmocka_run_group_tests_name("chat", tests, make_folder, remove_folder) != 0;
}
