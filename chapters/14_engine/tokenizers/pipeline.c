#include "14_engine/tokenizers/pipeline.h"
#include "10_tokenizer/tokenizer_internal.h"
#include "14_engine/tokenizers/precompiled_charsmap.h"
#include "14_engine/tokenizers/unicode_classes.h"
#include "common/error.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ added tokens */

/* The text between two added tokens, or one of them. */
typedef struct {
    size_t from, to;
    int id; /* -1: none */
} Section;

typedef struct {
    size_t count, capacity;
    Section *sections;
} Sections;

static void add_section(Sections *sections, Section section) {
    if (sections->count == sections->capacity) {
        sections->capacity = 2 * sections->capacity + 8;
        sections->sections =
            xrealloc(sections->sections, size_mul(sections->capacity, sizeof *sections->sections));
    }
    sections->sections[sections->count++] = section;
}

static bool has_trait(const char *text, size_t *n, int traits) {
    return unicode_classes[unicode_class(utf8_point(text, n))].traits & traits;
}

/* The start of the last character of text[0 .. end). */
static size_t start_of_last(const char *text, size_t end) {
    do end--;
    while (((unsigned char)text[end] & 0xc0) == 0x80);
    return end;
}

static size_t without_blanks(const char *text, size_t end) {
    size_t n;
    while (end > 0 && has_trait(text + start_of_last(text, end), &n, BLANK))
        end = start_of_last(text, end);
    return end;
}

static size_t behind_blanks(const char *text, size_t at, size_t length) {
    size_t n;
    while (at < length && has_trait(text + at, &n, BLANK)) at += n;
    return at;
}

/* Whether text[from .. to) is not next to a character of a word. */
static bool stands_alone(size_t length, const char *text, size_t from, size_t to) {
    size_t n;
    return !(from > 0 && has_trait(text + start_of_last(text, from), &n, RUST_WORD)) &&
           !(to < length && has_trait(text + to, &n, RUST_WORD));
}

/* The blanks that one token takes from its right, the next one does not take from its left: if it
 * is a blank itself, and one of these, nothing is left of it. */
static void find_added(const Pipeline *p, const AddedTokenTrie *wanted, bool special, size_t length,
                       const char *text, Sections *sections) {
    size_t done = 0;
    for (size_t at = 0; at < length;) {
        int i = wanted->begins[(unsigned char)text[at]]
                    ? names_find(&wanted->names, length - at, text + at)
                    : -1;
        if (i < 0) {
            at++;
            continue;
        }
        const Added *added = &p->added[i];
        size_t from = at, to = at += added->length;
        if ((added->special && !special) ||
            (added->single_word && !stands_alone(length, text, from, to)))
            continue;
        if (added->rstrip) to = behind_blanks(text, to, length);
        if (added->lstrip) {
            from = without_blanks(text, from);
            if (from < done) from = done;
            if (from >= to) continue;
        }
        if (done < from) add_section(sections, (Section){done, from, -1});
        add_section(sections, (Section){from, to, added->id});
        done = to;
    }
    if (done < length) add_section(sections, (Section){done, length, -1});
}

static const Added *added_of(const Pipeline *p, int id) {
    for (int i = 0; i < p->added_count; i++)
        if (p->added[i].id == id) return &p->added[i];
    return NULL;
}

static void pipeline_trim(const Tokenizer *t, int left, int right, const char *text, size_t *from,
                          size_t *to) {
    if (*from == *to) return;
    const Pipeline *p = t->pipeline;
    const Added *before = added_of(p, left), *behind = added_of(p, right);
    if (before && before->rstrip) *from = behind_blanks(text, *from, *to);
    if (behind && behind->lstrip) *to = *from + without_blanks(text + *from, *to - *from);
}

/* ------------------------------------------------------------------ text to ids */

/* Splits a word into characters, or into the bytes of a character that is no token. A character
 * without bytes is the unknown token, which waits until the bytes that follow it are written: so it
 * is in tokenizers. */
static int spelled_symbols(const Tokenizer *t, size_t length, const char *word,
                           Symbol symbols[length]) {
    const Pipeline *p = t->pipeline;
    int count = 0, waiting = 0;
    for (size_t i = 0, n; i < length; i += n) {
        utf8_point(word + i, &n);
        int id = map_find(&t->vocabulary.pieces, n, word + i);
        bool falls_back = id < 0 && p->byte_fallback;
        for (size_t b = i; falls_back && b < i + n; b++)
            falls_back = t->byte_ids[(unsigned char)word[b]] >= 0;
        for (size_t b = i; falls_back && b < i + n; b++)
            symbols[count++] =
                (Symbol){.start = (int)b, .length = 1, .id = t->byte_ids[(unsigned char)word[b]]};
        if (falls_back) continue;
        if (id < 0 && t->unknown < 0)
            fail("the text has \"%.*s\", which this vocabulary cannot spell", (int)n, word + i);
        if (waiting && (id >= 0 || !p->fuse_unk)) {
            symbols[count++] =
                (Symbol){.start = (int)i - waiting, .length = waiting, .id = t->unknown};
            waiting = 0;
        }
        if (id >= 0) symbols[count++] = (Symbol){.start = (int)i, .length = (int)n, .id = id};
        else waiting += (int)n;
    }
    if (waiting)
        symbols[count++] =
            (Symbol){.start = (int)length - waiting, .length = waiting, .id = t->unknown};
    return count;
}

static void merge_words(const Tokenizer *t, const Pieces *pieces, Ids *ids) {
    if (pieces->text.length > INT_MAX / 4)
        fail("a text of %zu bytes is too long: encode it in parts", pieces->text.length);
    EncodeCache words = encode_cache_new(t, pieces->text.length, pieces->text.text, ids);
    for (size_t i = 0; i < pieces->count; i++) {
        size_t at = pieces->pieces[i].start, end = at + pieces->pieces[i].length;
        for (size_t n; at < end; at += n) {
            n = t->pipeline->falls_apart ? word_length(t, end - at, pieces->text.text + at)
                                         : end - at;
            encode_cache_add(&words, at, n);
        }
    }
    encode_cache_free(&words);
}

static void encode_normalized(const Tokenizer *t, size_t first, size_t length, const char *text,
                              bool special, Ids *ids) {
    Sections sections = {0};
    find_added(t->pipeline, &t->pipeline->in_normalized, special, length, text, &sections);
    for (size_t i = 0; i < sections.count; i++) {
        const Section *s = &sections.sections[i];
        if (s->id >= 0) {
            ids_add(ids, s->id);
            continue;
        }
        Pieces pieces = {0};
        pieces_add(&pieces, s->to - s->from, text + s->from, first > s->from ? first - s->from : 0);
        steps_apply(&t->pipeline->pre_tokenizer, &pieces);
        merge_words(t, &pieces, ids);
        pieces_free(&pieces);
    }
    free(sections.sections);
}

static void encode_section(const Tokenizer *t, bool begins, size_t length, const char *text,
                           bool special, Ids *ids) {
    Pieces whole = {0};
    size_t first = 0;
    if (begins) utf8_point(text, &first);
    pieces_add(&whole, length, text, first);
    steps_apply(&t->pipeline->normalizer, &whole);
    encode_normalized(t, whole.pieces[0].first, whole.text.length, whole.text.text, special, ids);
    pieces_free(&whole);
}

static void pipeline_encode(const Tokenizer *t, bool begins, size_t length, const char *text,
                            bool special, Ids *ids) {
    StringBuffer valid = {0};
    buffer_add_utf8(&valid, false, length, text);
    Sections sections = {0};
    find_added(t->pipeline, &t->pipeline->in_text, special, valid.length, valid.text, &sections);
    for (size_t i = 0; i < sections.count; i++) {
        const Section *s = &sections.sections[i];
        if (s->id >= 0) ids_add(ids, s->id);
        else
            encode_section(t, begins && s->from == 0, s->to - s->from, valid.text + s->from,
                           special, ids);
    }
    free(sections.sections);
    free(valid.text);
}

/* ------------------------------------------------------------------ ids to text */

static StringBuffer pipeline_decode(const Tokenizer *t, size_t count, const int *ids) {
    Pieces pieces = {0};
    for (size_t i = 0; i < count; i++) {
        const DecodedToken *spoken =
            &t->pipeline->decoded[token_of(t, ids[i]) - t->vocabulary.tokens];
        if (!spoken->silent) pieces_add(&pieces, (size_t)spoken->length, spoken->name, 0);
    }
    steps_apply(&t->pipeline->decoder, &pieces);
    StringBuffer out = {0};
    for (size_t i = 0; i < pieces.count; i++)
        buffer_add(&out, pieces.pieces[i].length, pieces.text.text + pieces.pieces[i].start);
    pieces_free(&pieces);
    return out;
}

/* The bytes that these letters of GPT-2's alphabet are, in their place; -1, and nothing is changed,
 * if they are none. */
static int read_letters(int length, char *letters) {
    char *bytes = xmalloc((size_t)length + 1);
    int count = alphabet_bytes(length, letters, bytes);
    if (count > 0) memcpy(letters, bytes, (size_t)count);
    free(bytes);
    return count;
}

/* The bytes that each token adds to a text: those that the decoder turns it into before it joins
 * the tokens, and before it looks which is the first. */
static void find_bytes(Tokenizer *t) {
    Steps alone = {0};
    const Steps *decoder = &t->pipeline->decoder;
    bool falls_back = false, reads = false;
    for (int i = 0; i < decoder->count && decoder->steps[i].kind != FUSE && !reads; i++) {
        Step step = decoder->steps[i];
        falls_back |= step.kind == BYTE_FALLBACK;
        reads |= step.kind == BYTE_LEVEL_DECODE;
        if (step.kind != BYTE_FALLBACK && step.kind != BYTE_LEVEL_DECODE &&
            step.kind != METASPACE_STRIP)
            steps_add(&alone, step);
    }
    Pieces pieces = {0};
    Token *tokens = t->vocabulary.tokens;
    for (int id = 0; id < t->vocabulary.size; id++) {
        const DecodedToken *spoken = &t->pipeline->decoded[id];
        pieces_add(&pieces, spoken->silent ? 0 : (size_t)spoken->length, spoken->name, 0);
    }
    steps_apply(&alone, &pieces);
    for (int id = 0; id < t->vocabulary.size; id++) {
        char *bytes = pieces.text.text + pieces.pieces[id].start;
        int length = (int)pieces.pieces[id].length,
            byte = falls_back ? byte_named((size_t)length, bytes) : -1;
        int read = reads ? read_letters(length, bytes) : -1;
        if (byte >= 0) bytes[0] = (char)byte;
        tokens[id].bytes = bytes;
        tokens[id].length = byte >= 0 ? 1 : read >= 0 ? read : length;
    }
    free(t->names);
    t->names = pieces.text.text; /* which are the tokenizer's now */
    free(pieces.pieces);
    free(alone.steps);
}

/* ------------------------------------------------------------------ the tokens */

/* Special tokens are no text, but at byte level, where they are their names. */
static void find_spoken(Tokenizer *t) {
    DecodedToken *spoken = t->pipeline->decoded =
        xmalloc((size_t)t->vocabulary.size * sizeof *spoken);
    for (int id = 0; id < t->vocabulary.size; id++) {
        const Token *token = &t->vocabulary.tokens[id];
        spoken[id] = (DecodedToken){token->piece, token->piece_length,
                                    token->kind == CONTROL && !t->byte_level};
    }
}

static void want(AddedTokenTrie *wanted, Name name) {
    wanted->names.names =
        xrealloc(wanted->names.names, (size_t)(wanted->names.count + 1) * sizeof name);
    wanted->names.names[wanted->names.count++] = name;
    wanted->begins[(unsigned char)name.name[0]] = true;
}

static void read_added(Pipeline *p, const json_t *tokens) {
    Pieces names = {0};
    size_t count = json_array_size(tokens);
    p->added = xmalloc(count * sizeof *p->added);
    p->added_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *token = json_array_get(tokens, i);
        const char *content = json_string_value(json_object_get(token, "content"));
        p->added[i] = (Added){
            .id = (int)json_integer_value(json_object_get(token, "id")),
            .length = strlen(content),
            .special = json_is_true(json_object_get(token, "special")),
            .single_word = json_is_true(json_object_get(token, "single_word")),
            .lstrip = json_is_true(json_object_get(token, "lstrip")),
            .rstrip = json_is_true(json_object_get(token, "rstrip")),
        };
        if (json_is_true(json_object_get(token, "normalized")))
            pieces_add(&names, strlen(content), content, 0);
        else want(&p->in_text, (Name){content, (int)strlen(content), (int)i});
    }
    steps_apply(&p->normalizer, &names);
    for (size_t i = 0, next = 0; i < count; i++) {
        if (!json_is_true(json_object_get(json_array_get(tokens, i), "normalized"))) continue;
        const Piece *name = &names.pieces[next++];
        const char *text = names.text.text + name->start;
        DecodedToken *spoken =
            &p->decoded[p->added[i].id]; /* as it is looked for, and silent if that is its name */
        spoken->silent &=
            (size_t)spoken->length == name->length && memcmp(spoken->name, text, name->length) == 0;
        spoken->name = text;
        spoken->length = (int)name->length;
        p->added[i].length = name->length;
        if (name->length > 0) want(&p->in_normalized, (Name){text, (int)name->length, (int)i});
    }
    p->normalized_names = names.text.text;
    free(names.pieces);
    names_sort(&p->in_text.names);
    names_sort(&p->in_normalized.names);
}

/* EncodeCache may be cut where nothing merges, if no two characters become one unknown token, and
 * none merge as bytes. */
static bool may_fall_apart(const Tokenizer *t) {
    const Vocabulary *v = &t->vocabulary;
    if (t->ignore_merges || !t->pipeline->byte_fallback) return false;
    for (int byte = 0; byte < 256; byte++)
        if (t->byte_ids[byte] < 0) return false;
    for (size_t i = 0; i < v->pairs.count; i++)
        for (int side = 0; side < 2; side++)
            if (byte_of(v->tokens[v->pair_ids[i][side]].piece_length,
                        v->tokens[v->pair_ids[i][side]].piece) >= 0)
                return false;
    return true;
}

/* ------------------------------------------------------------------ all of it */

static void close_pipeline(Tokenizer *t) { pipeline_free(t->pipeline); }

Pipeline *pipeline_of(Tokenizer *t) {
    if (t->pipeline) return t->pipeline;
    t->pipeline = xmalloc(sizeof *t->pipeline);
    *t->pipeline = (Pipeline){0};
    t->hooks.close = close_pipeline;
    return t->pipeline;
}

void pipeline_decodes(Tokenizer *t) {
    find_spoken(t);
    t->hooks.decode = pipeline_decode;
}

void pipeline_encodes(Tokenizer *t, const json_t *vocab, const json_t *added) {
    pipeline_decodes(t);
    read_added(t->pipeline, added);
    /* An added token may be one of the model's, too. */
    for (int id = 0; id < t->vocabulary.size; id++) {
        const Token *token = &t->vocabulary.tokens[id];
        if (token->kind != NORMAL && json_object_get(vocab, token->piece))
            map_add(&t->vocabulary.pieces, (size_t)token->piece_length, token->piece, id);
    }
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        size_t length = (size_t)snprintf(name, sizeof name, "<0x%02X>", byte);
        t->byte_ids[byte] = map_find(&t->vocabulary.pieces, length, name);
    }
    find_bytes(t);
    t->hooks.encode = pipeline_encode;
    t->hooks.trim = pipeline_trim;
    t->first_symbols = spelled_symbols;
    t->pipeline->falls_apart = may_fall_apart(t);
    if (t->pipeline->falls_apart) find_pairs(t);
}

static bool buffer_ends_with(const StringBuffer *text, const char *end) {
    size_t n = strlen(end);
    return text->length >= n && memcmp(text->text + text->length - n, end, n) == 0;
}

/* The hook of a tokenizer. Spaces are also removed where the text has them as ▁. */
static bool charsmap_normalize(const Tokenizer *t, size_t length, const char *text,
                               StringBuffer *normal) {
    *normal = charsmap_apply(t->pipeline->charsmap, &t->vocabulary, length, text);
    if (!t->removes_spaces) return true;
    for (;;) {
        if (buffer_ends_with(normal, " ")) normal->length -= 1;
        else if (buffer_ends_with(normal, SPACE_MARK)) normal->length -= strlen(SPACE_MARK);
        else break;
    }
    if (normal->length > 0) return true;
    free(normal->text);
    return false;
}

void pipeline_uses_charsmap(Tokenizer *t, const char *path) {
    pipeline_of(t)->charsmap =
        charsmap_new(path, t->removes_spaces, t->charsmap_length, t->charsmap);
    t->hooks.normalize = charsmap_normalize;
}

void pipeline_free(Pipeline *p) {
    if (!p) return;
    steps_free(&p->normalizer);
    steps_free(&p->pre_tokenizer);
    steps_free(&p->decoder);
    free(p->in_text.names.names);
    free(p->in_normalized.names.names);
    free(p->normalized_names);
    free(p->decoded);
    free(p->added);
    charsmap_free(p->charsmap);
    json_decref(p->json);
    free(p->added_names);
    free(p);
}
