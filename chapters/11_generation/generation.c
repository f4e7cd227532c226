#include "11_generation/generation.h"
#include "10_tokenizer/utf8.h"
#include "common/error.h"
#include "common/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ one token after another */

Generation generation_new(const Model *model, const Kernels *kernels, int capacity,
                          SamplingParams sampling, unsigned long seed) {
    return (Generation){.decoder = decoder_new(model, kernels, capacity),
                        .sampling = sampling,
                        .random = {seed},
                        .ids = xmalloc((size_t)capacity * sizeof(int)),
                        .logits = xmalloc((size_t)model->config.V * sizeof(float))};
}

void generation_free(Generation *generation) {
    decoder_free(&generation->decoder);
    free(generation->ids);
    free(generation->logits);
    free(generation->before);
}

/* Among nan and infinities there is nothing to choose: one and the same token would come out for
 * ever. */
static void check_logits(int V, const float logits[V], int length) {
    int v = first_not_finite(V, logits);
    if (v < V)
        fail("after %d token%s the model's logit of token %d is %s: its weights or its config.json "
             "are damaged, or a sum overflows (09_decoder --token-ids says where)",
             length, length == 1 ? "" : "s", v, isnan(logits[v]) ? "nan" : "infinite");
}

void prefill(Generation *g, int count, const int ids[count]) {
    int length = g->decoder.length, V = g->decoder.model->config.V;
    decoder_eval(&g->decoder, count, ids);
    memcpy(g->ids + length, ids, (size_t)count * sizeof *ids);
    decoder_logits(&g->decoder, g->logits);
    check_logits(V, g->logits, g->decoder.length);
}

void kv_cache_truncate(Generation *g, int length) { g->decoder.length = length; }

int sample_next(Generation *g) {
    int V = g->decoder.model->config.V;
    if (g->before) memcpy(g->before, g->logits, (size_t)V * sizeof *g->logits);
    g->chosen++;
    return g->last = sample(&g->sampling, V, g->logits, g->decoder.length, g->ids, &g->random);
}

/* Whether the stream still has a reader who wants more. */
static bool should_continue(const Stream *stream) {
    return !ferror(stream->file) && !stream->ended && !(stream->stop && *stream->stop);
}

FinishReason generate(Generation *g, const Tokenizer *tokenizer, Stream *stream, int most) {
    for (int n = 0; n < most && should_continue(stream); n++) {
        int id = sample_next(g);
        if (is_end_of_generation(g->decoder.model, tokenizer, id) && !g->ignore_eos)
            return FINISH_EOS;
        stream_token(stream, tokenizer, id);
        if (g->decoder.length == g->decoder.capacity) return FINISH_CONTEXT_FULL;
        prefill(g, 1, &id);
    }
    return should_continue(stream) ? FINISH_LENGTH : FINISH_INTERRUPTED;
}

int *encode_with_bos(const Tokenizer *tokenizer, size_t length, const char text[length],
                     size_t *count) {
    int bos = tokenizer_bos(tokenizer),
        *ids = tokenizer_encode(tokenizer, length, text, false, count);
    if (bos < 0 || (*count > 0 && !tokenizer_adds_bos(tokenizer))) return ids;
    int *with = xmalloc((*count + 1) * sizeof *with);
    with[0] = bos;
    memcpy(with + 1, ids, *count * sizeof *ids);
    free(ids);
    ++*count;
    return with;
}

bool is_end_of_generation(const Model *model, const Tokenizer *tokenizer, int id) {
    for (int i = 0; i < model->config.eos_count; i++)
        if (id == model->config.eos[i]) return true;
    static const char *const names[] = {"<|eot_id|>", "<|eom_id|>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (id == tokenizer_special(tokenizer, names[i])) return true;
    return id == tokenizer_eos(tokenizer);
}

/* ------------------------------------------------------------------ text as it is made */

static void write_all(Stream *stream, size_t length, const char text[length]) {
    if (stream->each) return;
    fwrite(text, 1, length, stream->file);
    if (stream->also) fwrite(text, 1, length, stream->also);
}

/* Shows the first n bytes that are held: a character, or U+FFFD for each. */
static void show(Stream *stream, int n, bool valid) {
    static const char unknown[] = "\uFFFD";
    if (valid) write_all(stream, (size_t)n, stream->held);
    for (int i = 0; !valid && i < n; i++) write_all(stream, sizeof unknown - 1, unknown);
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

/* The number of waiting bytes that can be shown: up to a stop text, or to where one may have
 * begun. */
static size_t ready(Stream *stream) {
    size_t count = stream->waiting_count, least = count;
    for (const char *const *end = stream->ends; end && *end; end++) {
        const char *found = memmem(stream->waiting, count, *end, strlen(*end));
        if (found && (size_t)(found - stream->waiting) <= least) {
            least = (size_t)(found - stream->waiting);
            stream->ended = true;
        }
    }
    for (const char *const *end = stream->ends; end && *end && !stream->ended; end++)
        for (size_t from = 0; from < least; from++)
            if (strncmp(stream->waiting + from, *end, count - from) == 0) least = from;
    return least;
}

void stream_end(Stream *stream) {
    for (size_t i = 0; i < stream->waiting_count && !stream->ended; i++)
        stream_byte(stream, stream->waiting[i]);
    show(stream, stream->count, false);
    fflush(stream->file);
    free(stream->waiting);
    stream->waiting = NULL;
    stream->waiting_count = 0;
}

void stream_write(Stream *stream, size_t length, const char text[length]) {
    stream->waiting = xrealloc(stream->waiting, stream->waiting_count + length + 1);
    memcpy(stream->waiting + stream->waiting_count, text, length);
    stream->waiting_count += length;
    size_t count = ready(stream);
    for (size_t i = 0; i < count; i++) stream_byte(stream, stream->waiting[i]);
    stream->waiting_count -= count;
    memmove(stream->waiting, stream->waiting + count, stream->waiting_count);
    fflush(stream->file);
}

/* Some models have a few logits more than their tokenizer has tokens; those have no text. */
void stream_token(Stream *stream, const Tokenizer *tokenizer, int id) {
    if (stream->each) stream->each(stream->context, id);
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
    const Kernels *kernels;
    int count, *ids; /* the window: BOS, and a piece of the text */
    double surprise; /* sum of -log p */
} Score;

double log_probability(int V, const float logits[V], int id) {
    double most = logits[argmax(V, logits)], sum = 0;
    for (int v = 0; v < V; v++) sum += exp(logits[v] - most);
    return logits[id] - most - log(sum);
}

/* Watches the decoder: after its last norm, each position foresees the token after it. */
static void score_positions(void *context, int stage, int first, int T, int C,
                            const float x[T][C]) {
    Score *score = context;
    int V = score->model->config.V;
    if (stage != 2 * score->model->config.L + 1) return;
    float(*logits)[V] = xmalloc((size_t)T * sizeof *logits);
    score->kernels->linear_tensor(T, C, V, logits, x, &score->model->lm_head);
    for (int t = 0; t < T && first + t + 1 < score->count; t++) {
        check_logits(V, logits[t], first + t + 1);
        score->surprise -= log_probability(V, logits[t], score->ids[first + t + 1]);
    }
    free(logits);
}

double perplexity(const Model *model, const Kernels *kernels, int bos, size_t count,
                  const int ids[count], int window,
                  void progress(size_t done, size_t count, double so_far)) {
    Score score = {
        .model = model, .kernels = kernels, .ids = xmalloc((size_t)window * sizeof(int))};
    size_t piece = (size_t)window - 1;
    for (size_t done = 0; done < count; done += piece) {
        if (count - done < piece) piece = count - done;
        score.ids[0] = bos;
        memcpy(score.ids + 1, ids + done, piece * sizeof *ids);
        score.count = (int)piece + 1;
        Decoder decoder = decoder_new(model, kernels, score.count);
        decoder.hook = score_positions;
        decoder.context = &score;
        decoder_eval(&decoder, score.count, score.ids);
        decoder_free(&decoder);
        progress(done + piece, count, exp(score.surprise / (double)(done + piece)));
    }
    free(score.ids);
    return exp(score.surprise / (double)count);
}
