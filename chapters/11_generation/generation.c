#include "11_generation/generation.h"
#include "09_decoder/projection.h"
#include "10_tokenizer/vocabulary.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ one token after another */

Generation generation_new(const Model *model, int capacity, Sampling sampling, unsigned long seed) {
    return (Generation){.decoder = decoder_new(model, capacity), .sampling = sampling, .random = {seed},
                        .ids = allocate((size_t)capacity * sizeof(int)),
                        .logits = allocate((size_t)model->config.V * sizeof(float))};
}

void generation_free(Generation *generation) {
    decoder_free(&generation->decoder);
    free(generation->ids), free(generation->logits);
}

/* Among nan and infinities there is nothing to choose: one and the same token would come out for ever. */
static void check_logits(int V, const float logits[V], int length) {
    for (int v = 0; v < V; v++)
        if (!isfinite(logits[v]))
            fail("after %d token%s the model's logit of token %d is %s: its weights or its config.json are damaged, or "
                 "a sum overflows (09_decoder --ids says where)", length, length == 1 ? "" : "s", v,
                 isnan(logits[v]) ? "nan" : "infinite");
}

void generation_read(Generation *g, int count, const int ids[count]) {
    int length = g->decoder.length, V = g->decoder.model->config.V;
    decoder_read(&g->decoder, count, ids);
    memcpy(g->ids + length, ids, (size_t)count * sizeof *ids);
    decoder_logits(&g->decoder, g->logits);
    check_logits(V, g->logits, g->decoder.length);
}

int generation_choose(Generation *g) {
    g->chosen++;
    return sample(&g->sampling, g->decoder.model->config.V, g->logits, g->decoder.length, g->ids, &g->random);
}

/* Whether the stream still has a reader who wants more. */
static bool wanted(const Stream *stream) {
    return !ferror(stream->file) && !(stream->stop && *stream->stop);
}

Ending generation_write(Generation *g, const Tokenizer *tokenizer, Stream *stream, int most) {
    for (int n = 0; n < most && wanted(stream); n++) {
        int id = generation_choose(g);
        if (ends_text(g->decoder.model, tokenizer, id) && !g->ignore_end) return ENDED;
        stream_token(stream, tokenizer, id);
        if (g->decoder.length == g->decoder.capacity) return FULL;
        generation_read(g, 1, &id);
    }
    return wanted(stream) ? ENOUGH : STOPPED;
}

int *encode_with_bos(const Tokenizer *tokenizer, size_t length, const char text[length], size_t *count) {
    int bos = tokenizer_bos(tokenizer), *ids = tokenizer_encode(tokenizer, length, text, false, count);
    if (bos < 0 || (*count > 0 && !tokenizer_adds_bos(tokenizer))) return ids;
    int *with = allocate((*count + 1) * sizeof *with);
    with[0] = bos;
    memcpy(with + 1, ids, *count * sizeof *ids);
    free(ids);
    return ++*count, with;
}

bool ends_text(const Model *model, const Tokenizer *tokenizer, int id) {
    for (int i = 0; i < model->config.eos_count; i++)
        if (id == model->config.eos[i]) return true;
    return id == tokenizer_eos(tokenizer) || id == tokenizer_special(tokenizer, "<|eot_id|>") ||
           id == tokenizer_special(tokenizer, "<|eom_id|>");
}

/* ------------------------------------------------------------------ text as it is made */

/* Shows the first n bytes that are held: a character, or U+FFFD for each. */
static void show(Stream *stream, int n, bool valid) {
    if (valid) fwrite(stream->held, 1, (size_t)n, stream->file);
    for (int i = 0; !valid && i < n; i++) fputs("\uFFFD", stream->file);
    stream->count -= n;
    memmove(stream->held, stream->held + n, (size_t)stream->count);
}

static void stream_byte(Stream *stream, char byte) {
    stream->held[stream->count++] = byte;
    while (stream->count > 0) {
        bool valid;
        int n = utf8_character((size_t)stream->count, stream->held, &valid);
        if (!valid && n == stream->count) return; /* the rest of a character may come */
        show(stream, n, valid);
    }
}

void stream_end(Stream *stream) {
    show(stream, stream->count, false);
    fflush(stream->file);
}

void stream_write(Stream *stream, size_t length, const char text[length]) {
    for (size_t i = 0; i < length; i++) stream_byte(stream, text[i]);
    fflush(stream->file);
}

/* Some models have a few logits more than their tokenizer has tokens; those have no text. */
void stream_token(Stream *stream, const Tokenizer *tokenizer, int id) {
    if (id >= tokenizer_size(tokenizer)) return;
    size_t length;
    const char *bytes = tokenizer_bytes(tokenizer, id, &length);
    if (length == 0) return;
    size_t skipped = stream->skip_space && *bytes == ' ';
    stream->skip_space = false;
    stream_write(stream, length - skipped, bytes + skipped);
}

/* ------------------------------------------------------------------ how well a text is foreseen */

typedef struct {
    const Model *model;
    int count, *ids; /* the window: BOS, and a piece of the text */
    double surprise; /* sum of -log p */
} Score;

/* -log p of a token: log of the sum of e^logit, less its own logit. */
static double surprise(int V, const float logits[V], int id) {
    double most = logits[greedy(V, logits)], sum = 0;
    for (int v = 0; v < V; v++) sum += exp(logits[v] - most);
    return most + log(sum) - logits[id];
}

/* Watches the decoder: after its last norm, each position foresees the token after it. */
static void score_positions(void *context, int stage, int first, int T, int C, const float x[T][C]) {
    Score *score = context;
    int V = score->model->config.V;
    if (stage != 2 * score->model->config.L + 1) return;
    float(*logits)[V] = allocate((size_t)T * sizeof *logits);
    project(T, C, V, logits, x, &score->model->lm_head);
    for (int t = 0; t < T && first + t + 1 < score->count; t++) {
        check_logits(V, logits[t], first + t + 1);
        score->surprise += surprise(V, logits[t], score->ids[first + t + 1]);
    }
    free(logits);
}

double perplexity(const Model *model, int bos, size_t count, const int ids[count], int window,
                  void progress(size_t done, size_t count)) {
    Score score = {.model = model, .ids = allocate((size_t)window * sizeof(int))};
    size_t piece = (size_t)window - 1;
    for (size_t done = 0; done < count; done += piece) {
        if (count - done < piece) piece = count - done;
        score.ids[0] = bos;
        memcpy(score.ids + 1, ids + done, piece * sizeof *ids);
        score.count = (int)piece + 1;
        Decoder decoder = decoder_new(model, score.count);
        decoder.watch = score_positions, decoder.context = &score;
        decoder_read(&decoder, score.count, score.ids);
        decoder_free(&decoder);
        progress(done + piece, count);
    }
    free(score.ids);
    return exp(score.surprise / (double)count);
}
