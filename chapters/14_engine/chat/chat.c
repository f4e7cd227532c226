#include "14_engine/chat/chat.h"
#include "14_engine/chat/chat_templates.h"
#include "common/error.h"
#include "common/file.h"
#include "common/gguf.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096 };

/* ------------------------------------------------------------------ the model's own template */

static const char *join(char path[static PATH], const char *folder, const char *name) {
    if (snprintf(path, PATH, "%s/%s", folder, name) >= PATH)
        fail("%.200s…: the path is too long", folder);
    return path;
}

/* A text, or the one that is called "default" in a list of {"name": …, "template": …}. */
static const char *template_in(const char *path, const json_t *said) {
    if (json_is_string(said)) return json_string_value(said);
    for (size_t i = 0; i < json_array_size(said); i++) {
        const json_t *one = json_array_get(said, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        const json_t *template = json_object_get(one, "template");
        if (name && strcmp(name, "default") == 0 && json_is_string(template))
            return json_string_value(template);
    }
    fail("%s: its chat_template is neither a text nor a list with one that is called default: take "
         "it out, or let llama --chat-template NAME take another",
         path);
}

/* "</s>", or {"content": "</s>", …}; NULL if it is neither. */
static const char *token_name(const json_t *said) {
    return json_string_value(json_is_object(said) ? json_object_get(said, "content") : said);
}

static void set_template(Chat *chat, const char *path, const char *source, size_t length) {
    chat->source = xstrndup(source, length);
    chat->path = xstrndup(path, strlen(path));
}

/* Reads the name of EOS, and the template if that is wanted. */
static void read_folder(Chat *chat, const char *folder, bool wanted) {
    char path[PATH];
    const bool own_file =
        file_is_there(join(path, folder, "chat_template.jinja")); /* overrides the other */
    if (file_is_there(join(path, folder, "tokenizer_config.json"))) {
        json_t *json = json_open_reals(path); /* its model_max_length mostly has 31 digits */
        const json_t *template = json_object_get(json, "chat_template");
        const char *eos = token_name(json_object_get(json, "eos_token"));
        if (wanted && !own_file && template && !json_is_null(template)) {
            const char *source = template_in(path, template);
            set_template(chat, path, source, strlen(source));
        }
        if (eos) chat->eos = xstrndup(eos, strlen(eos));
        json_decref(json);
    }
    if (!wanted || !own_file) return;
    size_t length;
    char *source = file_read_regular(join(path, folder, "chat_template.jinja"), &length);
    if (memchr(source, '\0', length))
        fail("%s: it has a NUL in it: this is no text (--chat-template NAME takes another)", path);
    set_template(chat, path, source, length);
    free(source);
}

static void read_gguf(Chat *chat, const char *path) {
    Gguf file = gguf_open(path);
    const GgufPair *pair = gguf_pair(&file, "tokenizer.chat_template");
    if (pair && pair->type == GGUF_STRING && !pair->is_array) {
        const unsigned char *place = pair->bytes;
        GgufText source = gguf_text(&place);
        set_template(chat, path, source.letters, source.length);
    }
    gguf_close(&file);
}

static void read_model(Chat *chat, const char *path, bool wanted) {
    if (gguf_is(path)) read_gguf(chat, path);
    else read_folder(chat, path, wanted);
}

char *chat_own_template(const char *path) {
    Chat chat = {0};
    read_model(&chat, path, true);
    free(chat.path);
    free(chat.eos);
    return chat.source;
}

/* ------------------------------------------------------------------ templates by name */

/* The template that the special tokens are made for. The tokenizers of Llama 3 to 3.3 are alike;
 * they differ in RoPE's scaling. */
static const char *detect_chat_template(const char *path, const Tokenizer *tokenizer,
                                        const Config *config) {
    enum { LLAMA_3_2 = 32 };
    const RopeParameters *rope = &config->rope;
    if (tokenizer_special(tokenizer, "<|im_start|>") >= 0) return "chatml";
    if (tokenizer_special(tokenizer, "<|start_header_id|>") < 0)
        fail("%s: it has no chat_template, and no tokens that show how it is talked to: "
             "--chat-template NAME says so, if it is a chat model (%s)",
             path, chat_template_names());
    if (rope->rope_type != ROPE_LLAMA3 && rope->rope_type != ROPE_FACTORS) return "llama3";
    /* The factor of the slowest pair. */
    double factor =
        rope->rope_type == ROPE_LLAMA3 ? rope->factor : rope->factors[config->D / 2 - 1];
    return lround(factor) == LLAMA_3_2 ? "llama3.2" : "llama3.1";
}

static void use_template(Chat *chat, const char *path, const ChatTemplate *form) {
    free(chat->source);
    free(chat->path);
    set_template(chat, path, form->template, strlen(form->template));
    chat->form = form->name;
    if (strstr(form->template, "bos_token") && !chat->bos)
        fail("--chat: the tokenizer has no BOS, which a conversation needs: this is no chat model");
    if (form->needs && tokenizer_special(chat->tokenizer, form->needs) < 0)
        fail("--chat: the tokenizer has no %s, which the form %s needs: --chat-template NAME takes "
             "another",
             form->needs, form->name);
}

/* The name of a token; NULL if there is none. */
static char *name_of(const Tokenizer *tokenizer, int id) {
    size_t length;
    if (id < 0) return NULL;
    const char *piece = tokenizer_piece(tokenizer, id, &length);
    return xstrndup(piece, length);
}

Chat chat_open(const char *path, const Tokenizer *tokenizer, const Config *config, const char *form,
               const char *date) {
    Chat chat = {.tokenizer = tokenizer, .bos = name_of(tokenizer, tokenizer_bos(tokenizer))};
    read_model(&chat, path, !form);
    if (!chat.eos) chat.eos = name_of(tokenizer, tokenizer_eos(tokenizer));
    if (form || !chat.source)
        use_template(
            &chat, path,
            chat_template_named(form ? form : detect_chat_template(path, tokenizer, config)));
    if (date && !strstr(chat.source, "date_string"))
        fail("--date: this model's template has no date: it is older than Llama 3.1, or another's");
    chat.template = (Template){
        .path = chat.path, .source = chat.source, .bos = chat.bos, .eos = chat.eos, .date = date};
    return chat;
}

void chat_close(Chat *chat) {
    free(chat->source);
    free(chat->path);
    free(chat->bos);
    free(chat->eos);
}

/* ------------------------------------------------------------------ tokens */

typedef struct {
    const Tokenizer *tokenizer;
    size_t count;
    int *ids;
} Ids;

static void add(Ids *ids, size_t count, const int more[count]) {
    ids->ids = xrealloc(ids->ids, (ids->count + count + 1) * sizeof *ids->ids);
    if (count) memcpy(ids->ids + ids->count, more, count * sizeof *more);
    ids->count += count;
}

/* Text between two special tokens, each of which may be -1 for none. */
static void add_text(Ids *ids, int left, int right, const char *text, size_t from, size_t to) {
    size_t count;
    tokenizer_trim(ids->tokenizer, left, right, text, &from, &to);
    if (from == to) return;
    int *more = ids->count
                    ? tokenizer_encode_after(ids->tokenizer, to - from, text + from, &count)
                    : tokenizer_encode(ids->tokenizer, to - from, text + from, false, &count);
    add(ids, count, more);
    free(more);
}

/* The special token whose name, "<…>" or "[…]", begins here and is not from a message; or -1. */
static int special_at(const Tokenizer *tokenizer, const Rendered *text, size_t at, size_t *end) {
    char name[128];
    const char close = text->letters[at] == '<' ? '>' : ']';
    if (text->letters[at] != '<' && text->letters[at] != '[') return -1;
    for (size_t i = at; i < text->length && i - at < sizeof name - 1 && !text->said[i]; i++) {
        name[i - at] = text->letters[i];
        if (text->letters[i] != close) continue;
        name[i + 1 - at] = '\0';
        *end = i + 1;
        return tokenizer_special(tokenizer, name);
    }
    return -1;
}

int *chat_tokens(const Chat *chat, size_t messages_count, const Message messages[messages_count],
                 size_t *count) {
    Rendered text = template_render(&chat->template, messages_count, messages);
    Ids ids = {.tokenizer = chat->tokenizer};
    size_t start = 0, end;
    int last = -1;
    for (size_t at = 0; at < text.length;) {
        int id = special_at(chat->tokenizer, &text, at, &end);
        if (id < 0) {
            at++;
            continue;
        }
        add_text(&ids, last, id, text.letters, start, at);
        add(&ids, 1, &id);
        last = id;
        at = start = end;
    }
    add_text(&ids, last, -1, text.letters, start, text.length);
    rendered_free(&text);
    if (ids.count == 0)
        fail("%s: its chat template makes nothing of this conversation (--chat-template NAME takes "
             "another)",
             chat->path);
    *count = ids.count;
    return ids.ids;
}
