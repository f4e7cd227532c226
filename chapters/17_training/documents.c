#include "17_training/documents.h"
#include "common/error.h"
#include "common/file.h"
#include "common/safetensors.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* While a file is read. */
typedef struct {
    const char *path;
    const Reading *reading;
    Documents documents;
    size_t seen; /* documents so far, those with nothing to learn as well */
    size_t id_room, span_room;
} Reader;

/* ------------------------------------------------------------------ documents are collected */

static void make_room(Reader *r, size_t more) {
    Documents *d = &r->documents;
    if (d->tokens + more <= r->id_room) return;
    r->id_room = 2 * (d->tokens + more);
    d->ids = xrealloc(d->ids, size_mul(r->id_room, sizeof *d->ids));
    d->loss_weight = xrealloc(d->loss_weight, size_mul(r->id_room, sizeof *d->loss_weight));
}

static void add_span(Reader *r, size_t begin, size_t length) {
    Documents *d = &r->documents;
    if (d->count == r->span_room) {
        r->span_room = 2 * r->span_room + 64;
        d->spans = xrealloc(d->spans, size_mul(r->span_room, sizeof *d->spans));
    }
    d->spans[d->count++] = (Span){begin, length};
}

bool documents_have_loss(const Documents *d, size_t begin, size_t length) {
    for (size_t i = begin + 1; i < begin + length; i++)
        if (d->loss_weight[i] > 0) return true;
    return false;
}

/* Token i of the document that is collected. */
static void put_token(Reader *r, size_t i, double id) {
    const int V = r->reading->V;
    if (!(id >= 0 && id < V && id == floor(id)))
        fail("%s: token %zu of document %zu is %.10g, which is not in the model's vocabulary of %d "
             "(0 to %d)",
             r->path, i, r->seen + 1, id, V, V - 1);
    r->documents.ids[r->documents.tokens + i] = (int)id;
}

/* Appends the ids after `tokens` as a document of so many tokens. */
static void end_document(Reader *r, size_t length) {
    Documents *d = &r->documents;
    r->seen++;
    if (!documents_have_loss(d, d->tokens, length)) return; /* there is nothing to learn in it */
    if (length > (size_t)r->reading->T && !r->reading->split_documents)
        fail("%s: document %zu has %zu tokens, and a sequence only %d: --split-documents cuts "
             "documents, --seq-len may give more room",
             r->path, r->seen, length, r->reading->T);
    add_span(r, d->tokens, length);
    d->tokens += length;
}

/* ------------------------------------------------------------------ texts */

/* Decodes the tokens in order; token i ends before byte ends[i] of the text. The caller frees
 * it. */
static char *spell(const Tokenizer *tokenizer, size_t count, const int ids[count],
                   size_t ends[count]) {
    size_t size = 0, length;
    for (size_t i = 0; i < count; i++) {
        tokenizer_bytes(tokenizer, ids[i], &length);
        ends[i] = size += length;
    }
    char *spelled = xmalloc(size);
    for (size_t i = 0; i < count; i++) {
        const char *bytes = tokenizer_bytes(tokenizer, ids[i], &length);
        memcpy(spelled + ends[i] - length, bytes, length);
    }
    return spelled;
}

/* 1 for the tokens that reach behind a place where `after` stands, up to the end of that line. What
 * the tokens spell is the text: no bookkeeping of the tokenizer is needed. */
static void learn_after(const Reading *reading, size_t count, const int ids[count],
                        float learned[count]) {
    const char *after = reading->loss_after, *found;
    size_t *ends = xmalloc(count * sizeof *ends), token = 0;
    char *text = spell(reading->tokenizer, count, ids, ends), *at = text,
         *end = text + (count ? ends[count - 1] : 0);
    for (size_t i = 0; i < count; i++) learned[i] = reading->loss_weight_else;
    while ((found = memmem(at, (size_t)(end - at), after, strlen(after)))) {
        const char *answer = found + strlen(after);
        char *line = memchr(answer, '\n', (size_t)(end - answer));
        at = line ? line + 1 : end;
        while (token < count && text + ends[token] <= answer) token++;
        for (; token < count && (token == 0 || text + ends[token - 1] < at); token++)
            learned[token] = 1;
        for (; !line && token < count; token++)
            learned[token] = 1; /* EOS spells nothing, but ends the last line */
    }
    free(ends);
    free(text);
}

static void add_text(Reader *r, size_t length, const char *text) {
    const Tokenizer *tokenizer = r->reading->tokenizer;
    int bos = tokenizer_adds_bos(tokenizer) ? tokenizer_bos(tokenizer) : -1,
        eos = tokenizer_eos(tokenizer);
    size_t count, used = 0;
    int *encoded = tokenizer_encode(tokenizer, length, text, false, &count);
    make_room(r, count + 2);
    float *learned = r->documents.loss_weight + r->documents.tokens;
    if (bos >= 0) put_token(r, used++, bos);
    for (size_t i = 0; i < count; i++) put_token(r, used++, encoded[i]);
    if (eos >= 0) put_token(r, used++, eos);
    free(encoded);
    for (size_t i = 0; i < used; i++) learned[i] = 1;
    if (r->reading->loss_after)
        learn_after(r->reading, used, r->documents.ids + r->documents.tokens, learned);
    end_document(r, used);
}

/* The end of the document that begins here, which is where the next may begin: a blank line,
 * with any kind of line ends. */
static const char *blank_line(const char *text, const char *end, const char **next) {
    for (const char *line = text; (line = memchr(line, '\n', (size_t)(end - line))); line++) {
        *next = line + 1;
        if (*next < end && **next == '\r') ++*next;
        if (*next < end && **next == '\n') return ++*next, line;
    }
    return *next = end;
}

static const char *at_mark(const char *text, const char *end, const char *mark, const char **next) {
    const char *found = memmem(text, (size_t)(end - text), mark, strlen(mark));
    *next = found ? found + strlen(mark) : end;
    return found ? found : end;
}

/* Standard input, or a pipe. */
static bool is_stream(const char *path) {
    struct stat status;
    if (strcmp(path, "-") == 0) return true;
    if (stat(path, &status) != 0) return false;
    if (S_ISDIR(status.st_mode))
        fail("%s: it is a folder: name a text in it, a token file (.safetensors), or - for "
             "standard input",
             path);
    return !S_ISREG(status.st_mode);
}

/* A file is mapped, however large it is; a stream is read. */
static void read_text(Reader *r) {
    static const char mark[] = "<|endoftext|>";
    if (!r->reading->tokenizer)
        fail("%s: it is a text, and there is no tokenizer: --tokenizer DIR", r->path);
    const bool streams = is_stream(r->path);
    char why[FILE_WHY];
    size_t length;
    void *text = NULL;
    if (streams) text = file_read(r->path, &length);
    else if (!file_map(r->path, &text, &length, why)) fail("%s: %s", r->path, why);
    if (length == 0) fail("%s: it is empty: there is nothing to learn", r->path);
    const char *begin = text, *end = begin + length, *next, *nul = memchr(begin, '\0', length);
    if (nul)
        fail("%s: byte %zu is a NUL: this is no text in UTF-8, and tokens are a .safetensors",
             r->path, (size_t)(nul - begin));
    bool marked = memmem(begin, length, mark, strlen(mark));
    for (const char *at = begin; at < end; at = next) {
        const char *last = marked ? at_mark(at, end, mark, &next) : blank_line(at, end, &next);
        while (at < last && (*at == '\n' || *at == '\r')) at++;
        while (last > at && (last[-1] == '\n' || last[-1] == '\r')) last--;
        if (last > at) add_text(r, (size_t)(last - at), at);
    }
    if (streams) free(text);
    else file_unmap(text, length);
}

/* ------------------------------------------------------------------ token files */

/* The loss weight of token i. */
static float learned_of(const Reader *r, const Tensor *learned, size_t i) {
    double counts = learned ? tensor_get(learned, i) : 1;
    if (!(counts >= 0 && counts <= 1000))
        fail("%s: learned[%zu] is %g: a token counts between 0, which is not at all, and 1000",
             r->path, i, counts);
    return (float)counts;
}

/* [documents][tokens] are documents of equal length; otherwise they begin where `begins` says,
 * or all is one document. */
static size_t next_begin(const Tensor *ids, const Tensor *doc_starts, size_t d) {
    size_t count = ids->rank == 2 ? ids->shape[0] : doc_starts ? tensor_count(doc_starts) : 1;
    if (d >= count) return tensor_count(ids);
    if (ids->rank == 2) return d * ids->shape[1];
    double begin = doc_starts ? tensor_get(doc_starts, d) : 0;
    return begin >= 0 && begin <= (double)tensor_count(ids) && begin == floor(begin) ? (size_t)begin
                                                                                     : SIZE_MAX;
}

static void read_tokens(Reader *r) {
    SafeTensors file = safetensors_open(r->path);
    const Tensor *ids = safetensors_find(&file, "ids"),
                 *learned = safetensors_find(&file, "learned");
    const Tensor *doc_starts = safetensors_find(&file, "begins");
    if (!ids || ids->rank < 1 || ids->rank > 2)
        fail("%s: it has no ids, of [tokens] or [documents, tokens]", r->path);
    if (learned && tensor_count(learned) != tensor_count(ids))
        fail("%s: its learned are not as many as its ids", r->path);
    size_t end = tensor_count(ids), begin = next_begin(ids, doc_starts, 0), next;
    if (end == 0) fail("%s: it is empty: there is nothing to learn", r->path);
    if (begin != 0) fail("%s: begins[0] is not 0", r->path);
    for (size_t d = 0; begin < end; d++, begin = next) {
        next = next_begin(ids, doc_starts, d + 1);
        if (next <= begin || next > end)
            fail("%s: begins[%zu] is not behind the one before it, or there is no such token",
                 r->path, d + 1);
        make_room(r, next - begin);
        Documents *to = &r->documents;
        for (size_t i = begin; i < next; i++) {
            put_token(r, i - begin, tensor_get(ids, i));
            to->loss_weight[to->tokens + i - begin] = learned_of(r, learned, i);
        }
        end_document(r, next - begin);
    }
    safetensors_close(&file);
}

/* ------------------------------------------------------------------ any of them */

Documents documents_read(const char *path, const Reading *reading) {
    Reader r = {.path = path, .reading = reading};
    r.documents.text = !name_ends_in(path, ".safetensors");
    if (r.documents.text) read_text(&r);
    else read_tokens(&r);
    if (r.documents.count == 0 && r.documents.text && reading->loss_after)
        fail("%s: nothing in it stands behind \"%s\": there is nothing to learn", path,
             reading->loss_after);
    if (r.documents.count == 0)
        fail("%s: it holds no document of two tokens or more: there is nothing to learn", path);
    return r.documents;
}

void documents_free(Documents *d) {
    free(d->spans);
    free(d->ids);
    free(d->loss_weight);
    *d = (Documents){0};
}
