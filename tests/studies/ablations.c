/* What each part does to the trained model: it is taken out, or done as in a well-known mistake,
 * and the model answers.
 *
 *     make ablations          computes tests/studies/ablations.txt anew, from unseen stories
 *
 * This is the decoder of chapter 9 in its plainest form, made of the chapters' kernels, with a
 * place for each mistake. Without a mistake it gives the decoder's own logits, or the program
 * stops; and of all 1000 unseen stories, the figures of the model's README.md. */
#include "09_decoder/decoder.h"
#include "11_generation/generation.h"
#include "12_speed/fast_kernels.h"
#include "common/console.h"
#include "common/error.h"
#include "tests/studies/eval_questions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the mistakes */

typedef enum {
    NOTHING,
    NO_NORM,
    NO_FINAL_NORM,
    NO_NORM_WEIGHT,
    EPSILON_OUTSIDE,
    LAYER_NORM,
    NORM_IN_STREAM,
    RELU,
    GELU,
    SIGMOID,
    NO_ACTIVATION,
    ACTIVATION_ON_BOTH,
    SWAPPED,
    UP_ALONE,
    GATE_ALONE,
    NO_FEED_FORWARD,
    OTHER_PAIRING,
    NO_ROPE,
    OTHER_THETA,
    OTHER_WAY,
    QUERIES_ONE_ON,
    BOTH_ONE_ON,
    VALUES_TURNED,
    EQUAL_WEIGHTS,
    NO_SCALE,
    SCALE_D,
    SCALE_C,
    MAXIMUM_KEPT,
    NO_MASK,
    NO_W_O,
    NO_ATTENTION,
    MODULO,
    FIRST_HEAD,
    MEAN_HEAD,
    STALE_ROW,
    ROW_TOO_MANY,
    VALUES_NOT_KEPT,
    POSITION_0,
    NOT_RESCALED,
    TILES_AVERAGED,
    NO_RESIDUAL,
    NO_BOS,
    TWO_BOS,
    NO_PREFIX,
    SPACE_BEFORE_ANSWER,
    LONGEST_FIRST,
    LETTER_BY_LETTER,
    BYTE_BY_BYTE,
} Mistake;

enum { ALL = -1 };

static const struct {
    const char *part, *what;
    Mistake mistake;
    int layer; /* where it is made; 0 is the first */
} mistakes[] = {
    {"", "none: the intact model", NOTHING, ALL},

    {"Normalization", "epsilon outside the root", EPSILON_OUTSIDE, ALL},
    {"Normalization", "LayerNorm instead of RMSNorm", LAYER_NORM, ALL},
    {"Normalization", "no weight", NO_NORM_WEIGHT, ALL},
    {"Normalization", "the stream itself is normalized", NORM_IN_STREAM, ALL},
    {"Normalization", "no norm before the logits", NO_FINAL_NORM, ALL},
    {"Normalization", "no norm at all", NO_NORM, ALL},

    {"Activation", "GELU instead of SiLU", GELU, ALL},
    {"Activation", "ReLU instead of SiLU", RELU, ALL},
    {"Activation", "sigmoid instead of SiLU", SIGMOID, ALL},
    {"Activation", "no activation: gate times up", NO_ACTIVATION, ALL},
    {"Activation", "SiLU on gate and on up", ACTIVATION_ON_BOTH, ALL},

    {"Feed-forward", "gate and up swapped", SWAPPED, ALL},
    {"Feed-forward", "up alone, without the gate", UP_ALONE, ALL},
    {"Feed-forward", "silu(gate) alone, without up", GATE_ALONE, ALL},
    {"Feed-forward", "no feed-forward in layer 0", NO_FEED_FORWARD, 0},
    {"Feed-forward", "no feed-forward in layer 1", NO_FEED_FORWARD, 1},
    {"Feed-forward", "no feed-forward in layer 2", NO_FEED_FORWARD, 2},
    {"Feed-forward", "no feed-forward in layer 3", NO_FEED_FORWARD, 3},
    {"Feed-forward", "no feed-forward in any layer", NO_FEED_FORWARD, ALL},

    {"RoPE", "all positions increased by 1", BOTH_ONE_ON, ALL},
    {"RoPE", "query positions increased by 1", QUERIES_ONE_ON, ALL},
    {"RoPE", "values rotated as well", VALUES_TURNED, ALL},
    {"RoPE", "rotated in the opposite direction", OTHER_WAY, ALL},
    {"RoPE", "theta 500000 instead of 10000", OTHER_THETA, ALL},
    {"RoPE", "interleaved layout instead of half-split", OTHER_PAIRING, ALL},
    {"RoPE", "no RoPE", NO_ROPE, ALL},

    {"Attention", "the maximum not subtracted", MAXIMUM_KEPT, ALL},
    {"Attention", "scores not divided by sqrt(D)", NO_SCALE, ALL},
    {"Attention", "scores divided by D", SCALE_D, ALL},
    {"Attention", "scores divided by sqrt(C)", SCALE_C, ALL},
    {"Attention", "all weights equal", EQUAL_WEIGHTS, ALL},
    {"Attention", "no mask", NO_MASK, ALL},
    {"Attention", "no W_o", NO_W_O, ALL},
    {"Attention", "no attention in layer 0", NO_ATTENTION, 0},
    {"Attention", "no attention in layer 1", NO_ATTENTION, 1},
    {"Attention", "no attention in layer 2", NO_ATTENTION, 2},
    {"Attention", "no attention in layer 3", NO_ATTENTION, 3},
    {"Attention", "no attention in any layer", NO_ATTENTION, ALL},

    {"Grouped queries", "head h reads h % KV", MODULO, ALL},
    {"Grouped queries", "all heads read key/value head 0", FIRST_HEAD, ALL},
    {"Grouped queries", "all heads read the mean of both", MEAN_HEAD, ALL},

    {"KV cache", "queries attend to one row too many", ROW_TOO_MANY, ALL},
    {"KV cache", "attention before append", STALE_ROW, ALL},
    {"KV cache", "values not stored", VALUES_NOT_KEPT, ALL},
    {"KV cache", "every new token at position 0", POSITION_0, ALL},

    {"FlashAttention", "no rescaling", NOT_RESCALED, ALL},
    {"FlashAttention", "mean of one softmax per tile", TILES_AVERAGED, ALL},

    {"The decoder", "x = block(x) instead of x += block(x)", NO_RESIDUAL, ALL},

    {"Tokenizer", "no <s>", NO_BOS, ALL},
    {"Tokenizer", "<s> twice", TWO_BOS, ALL},
    {"Tokenizer", "no space before the text", NO_PREFIX, ALL},
    {"Tokenizer", "a space at the end of the prompt", SPACE_BEFORE_ANSWER, ALL},
    {"Tokenizer", "the longest token first", LONGEST_FIRST, ALL},
    {"Tokenizer", "nothing merged: letters", LETTER_BY_LETTER, ALL},
    {"Tokenizer", "nothing merged: bytes", BYTE_BY_BYTE, ALL},
};

enum { MISTAKES = sizeof mistakes / sizeof *mistakes, TILE = 16 };

typedef struct {
    Examinee examinee;
    Mistake mistake;
    int layer;
    bool by_token; /* the cache's mistakes are seen only where one token is read after the other */
    float *keys, *values; /* [L][LETTERS][KV][D] */
} Llama;

/* ------------------------------------------------------- the kernels, and where each goes wrong */

static void norm(const Llama *llama, int T, int C, float out[restrict T][C], const float x[T][C],
                 const float weight[C]) {
    float eps = (float)llama->examinee.model->config.rms_norm_eps, ones[C], zeros[C];
    for (int i = 0; i < C; i++) {
        ones[i] = 1;
        zeros[i] = 0;
    }
    switch (llama->mistake) {
    case NO_NORM: memcpy(out, x, (size_t)T * sizeof *x); break;
    case NO_NORM_WEIGHT: fast_rms_norm(T, C, out, x, ones, eps); break;
    case LAYER_NORM: layer_norm(T, C, out, x, weight, zeros, eps); break;
    case EPSILON_OUTSIDE:
        for (int t = 0; t < T; t++) {
            double squares = 0;
            for (int i = 0; i < C; i++) squares += (double)x[t][i] * x[t][i];
            for (int i = 0; i < C; i++)
                out[t][i] = (float)(x[t][i] / (sqrt(squares / C) + eps) * weight[i]);
        }
        break;
    default: fast_rms_norm(T, C, out, x, weight, eps);
    }
}

static void swiglu_rows(Mistake mistake, int n, float out[n], float gate[n], float up[n]) {
    switch (mistake) {
    case RELU: reglu(n, out, gate, up); break;
    case GELU: geglu(n, out, gate, up); break;
    case SIGMOID: glu(n, out, gate, up); break;
    case NO_ACTIVATION: bilinear(n, out, gate, up); break;
    case ACTIVATION_ON_BOTH:
        silu(n, up, up);
        fast_swiglu(n, out, gate, up);
        break;
    case SWAPPED: fast_swiglu(n, out, up, gate); break;
    case UP_ALONE: memcpy(out, up, (size_t)n * sizeof *up); break;
    case GATE_ALONE: silu(n, out, gate); break;
    default: fast_swiglu(n, out, gate, up);
    }
}

/* The angles of T positions from `first` on. */
static void angles(const Llama *llama, int T, int D, float table[2][T][D / 2], int first) {
    RopeParameters rope = llama->examinee.model->config.rope;
    float inv_freq[D / 2];
    int positions[T];
    if (llama->mistake == OTHER_THETA) rope.rope_theta = 500000;
    rope_frequencies(D, inv_freq, &rope, CAPACITY);
    if (llama->mistake == OTHER_WAY)
        for (int i = 0; i < D / 2; i++) inv_freq[i] = -inv_freq[i];
    for (int t = 0; t < T; t++) positions[t] = llama->mistake == POSITION_0 ? 0 : first + t;
    rope_table(T, D, table, positions, inv_freq);
}

static void apply_rope(Mistake mistake, int T, int H, int D, float out[restrict T][H][D],
                       const float x[T][H][D], const float table[2][T][D / 2]) {
    if (mistake == NO_ROPE) memcpy(out, x, (size_t)T * sizeof *x);
    else
        (mistake == OTHER_PAIRING ? rope_interleaved
                                  : rope_half_split)(T, H, D, out, x, table[COSINES], table[SINES]);
}

/* Each number the mean of all heads'. */
static void average_heads(int T, int KV, int D, float x[T][KV][D]) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D; i++) {
            float sum = 0;
            for (int g = 0; g < KV; g++) sum += x[t][g][i];
            for (int g = 0; g < KV; g++) x[t][g][i] = sum / KV;
        }
}

/* Softmax. With two of the mistakes, keys are taken by the tile, as chapter 8 reads them. */
static void weigh(Mistake mistake, int S, float weights[S]) {
    bool tiled = mistake == NOT_RESCALED || mistake == TILES_AVERAGED;
    int tile = tiled ? TILE : S;
    float max = -INFINITY;
    double whole = 0;
    for (int first = 0; first < S; first += tile) {
        int end = first + tile < S ? first + tile : S;
        double sum = 0;
        if (mistake == TILES_AVERAGED) max = -INFINITY;
        for (int s = first; s < end; s++) max = fmaxf(max, weights[s]);
        for (int s = first; s < end; s++) {
            weights[s] = mistake == EQUAL_WEIGHTS
                             ? 1
                             : expf(mistake == MAXIMUM_KEPT ? weights[s] : weights[s] - max);
            sum += weights[s];
        }
        whole += mistake == TILES_AVERAGED ? 1 : sum;
        for (int s = first; mistake == TILES_AVERAGED && s < end; s++) weights[s] /= (float)sum;
    }
    for (int s = 0; s < S; s++) weights[s] /= (float)whole;
}

static float scale(const Config *c, Mistake mistake) {
    switch (mistake) {
    case NO_SCALE: return 1;
    case SCALE_D: return 1.0f / c->D;
    case SCALE_C: return 1 / sqrtf((float)c->C);
    default: return 1 / sqrtf((float)c->D);
    }
}

/* The last T of S positions look at keys and values. */
static void attend(const Llama *llama, int T, int S, int H, int KV, int D,
                   float out[restrict T][H][D], const float q[T][H][D], const float k[S][KV][D],
                   const float v[S][KV][D]) {
    Mistake mistake = llama->mistake;
    float divided = scale(&llama->examinee.model->config, mistake);
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++) {
            int g = mistake == MODULO ? h % KV : mistake == FIRST_HEAD ? 0 : h / (H / KV);
            int seen = mistake == NO_MASK ? S : S - T + t + 1 + (mistake == ROW_TOO_MANY);
            float weights[seen];
            for (int s = 0; s < seen; s++) {
                float sum = 0;
#pragma omp simd reduction(+ : sum)
                for (int i = 0; i < D; i++) sum += q[t][h][i] * k[s][g][i];
                weights[s] = sum * divided;
            }
            weigh(mistake, seen, weights);
            for (int i = 0; i < D; i++) out[t][h][i] = 0;
            for (int s = 0; s < seen; s++)
                for (int i = 0; i < D; i++) out[t][h][i] += weights[s] * v[s][g][i];
        }
}

static void add(Mistake mistake, int T, int C, float x[restrict T][C], const float more[T][C]) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++)
            x[t][i] = mistake == NO_RESIDUAL ? more[t][i] : x[t][i] + more[t][i];
}

/* ------------------------------------------------------------------ the decoder */

/* Reads T tokens; `out` is the stream after the final norm. */
static void read_piece(Llama *llama, int T, const int ids[T], int C, float out[restrict T][C]) {
    const Model *model = llama->examinee.model;
    const Config *c = &model->config;
    Mistake mistake = llama->mistake;
    int H = c->H, KV = c->KV, D = c->D, F = c->F, S = llama->examinee.length + T;
    float(*keys)[LETTERS][KV][D] = (void *)llama->keys,
    (*values)[LETTERS][KV][D] = (void *)llama->values;
    float x[T][C], normed[T][C], more[T][C], q[T][H][D], turned_q[T][H][D], attn_out[T][H][D];
    float k[T][KV][D], turned_k[T][KV][D], v[T][KV][D], turned_v[T][KV][D], gate[T][F], up[T][F];
    float of_keys[2][T][D / 2], of_queries[2][T][D / 2];

    angles(llama, T, D, of_keys, llama->examinee.length + (mistake == BOTH_ONE_ON));
    angles(llama, T, D, of_queries,
           llama->examinee.length + (mistake == BOTH_ONE_ON || mistake == QUERIES_ONE_ON));
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++)
            x[t][i] = (float)tensor_get(&model->embed_tokens, (size_t)ids[t] * C + i);

    for (int l = 0; l < c->L; l++) {
        const Layer *layer = &model->layers[l];
        bool here = llama->layer == ALL || llama->layer == l;

        norm(llama, T, C, normed, x, layer->input_layernorm);
        if (mistake == NORM_IN_STREAM) memcpy(x, normed, sizeof x);
        fast_linear_tensor(T, C, H * D, (float(*)[H * D]) q, normed, &layer->q_proj);
        fast_linear_tensor(T, C, KV * D, (float(*)[KV * D]) k, normed, &layer->k_proj);
        fast_linear_tensor(T, C, KV * D, (float(*)[KV * D]) v, normed, &layer->v_proj);
        apply_rope(mistake, T, H, D, turned_q, q, of_queries);
        apply_rope(mistake, T, KV, D, turned_k, k, of_keys);
        if (mistake == VALUES_TURNED) {
            apply_rope(mistake, T, KV, D, turned_v, v, of_keys);
            memcpy(v, turned_v, sizeof v);
        }
        if (mistake == MEAN_HEAD) {
            average_heads(T, KV, D, turned_k);
            average_heads(T, KV, D, v);
        }
        if (mistake == VALUES_NOT_KEPT && llama->examinee.length > 0) memset(v, 0, sizeof v);
        if (mistake != STALE_ROW)
            kv_cache_append(LETTERS, KV, D, keys[l], values[l], llama->examinee.length, T, turned_k,
                            v);
        attend(llama, T, S, H, KV, D, attn_out, turned_q, keys[l], values[l]);
        if (mistake == STALE_ROW)
            kv_cache_append(LETTERS, KV, D, keys[l], values[l], llama->examinee.length, T, turned_k,
                            v);
        if (mistake == NO_W_O) memcpy(more, attn_out, sizeof more); /* H D is C in this model */
        else
            fast_linear_tensor(T, H * D, C, more, (const float(*)[H * D]) attn_out, &layer->o_proj);
        if (mistake != NO_ATTENTION || !here) add(mistake, T, C, x, more);

        norm(llama, T, C, normed, x, layer->post_attention_layernorm);
        if (mistake == NORM_IN_STREAM) memcpy(x, normed, sizeof x);
        fast_linear_tensor(T, C, F, gate, normed, &layer->gate_proj);
        fast_linear_tensor(T, C, F, up, normed, &layer->up_proj);
        swiglu_rows(mistake, T * F, (float *)gate, (float *)gate, (float *)up);
        fast_linear_tensor(T, F, C, more, gate, &layer->down_proj);
        if (mistake != NO_FEED_FORWARD || !here) add(mistake, T, C, x, more);
    }
    if (mistake == NO_FINAL_NORM) memcpy(out, x, sizeof x);
    else norm(llama, T, C, out, x, model->norm);
    llama->examinee.length = S;
}

/* The same at once or token by token; what is read letter by letter is too long to be read at once.
 */
static void read_tokens(Examinee *examinee, int T, const int ids[T], int asked, int V,
                        float logits[asked][V]) {
    Llama *llama = (Llama *)examinee;
    int C = examinee->model->config.C, most = llama->by_token ? 1 : CAPACITY;
    float out[T][C];
    for (int t = 0; t < T; t += most)
        read_piece(llama, T - t < most ? T - t : most, ids + t, C, out + t);
    fast_linear_tensor(asked, C, V, logits, out + T - asked, &examinee->model->lm_head);
}

/* ------------------------------------------------------- the tokenizer, and where it goes wrong */

static int *without_bos(const Tokenizer *t, size_t length, const char *text, size_t *count) {
    return tokenizer_encode(t, length, text, false, count);
}

static int *with_two_bos(const Tokenizer *t, size_t length, const char *text, size_t *count) {
    int *ids = encode_with_bos(t, length, text, count);
    ids = xrealloc(ids, (*count + 1) * sizeof *ids);
    memmove(ids + 1, ids, (*count)++ * sizeof *ids);
    return ids;
}

/* Adds the tokens of a text that gets no space before it, as behind the end of a line. */
static void add_as_it_is(const Tokenizer *t, size_t length, const char *text, int ids[],
                         size_t *count) {
    char line[length + 1];
    size_t n;
    line[0] = '\n';
    memcpy(line + 1, text, length);
    int *more = tokenizer_encode(t, length + 1, line, false, &n); /* ▁, \n, and what is wanted */
    memcpy(ids + *count, more + 2, (n - 2) * sizeof *ids);
    *count += n - 2;
    free(more);
}

/* Room for <s>, a space, and a token for each letter of a text. */
static int *begin(const Tokenizer *t, size_t length, size_t *count) {
    int *ids = xmalloc((2 * length + 2) * sizeof *ids);
    ids[0] = tokenizer_bos(t);
    *count = 1;
    return ids;
}

static int *without_prefix(const Tokenizer *t, size_t length, const char *text, size_t *count) {
    int *ids = begin(t, length, count);
    add_as_it_is(t, length, text, ids, count);
    return ids;
}

/* "Answer: " as if a prompt had ended there, and the answer were encoded by itself. */
static int *space_before_answer(const Tokenizer *t, size_t length, const char *text,
                                size_t *count) {
    static const char before[] = "Answer:";
    int *ids = begin(t, length, count);
    char spaced[length + 2], *rest = spaced;
    snprintf(spaced, sizeof spaced, " %.*s", (int)length, text);
    for (char *found; (found = strstr(rest, before)); rest = found + (*found == ' ')) {
        found += strlen(before);
        add_as_it_is(t, (size_t)(found - rest), rest, ids, count);
        add_as_it_is(t, 1, " ", ids, count);
    }
    add_as_it_is(t, strlen(rest), rest, ids, count);
    return ids;
}

/* Of the tokens of at most so many bytes that a text begins with the longest; of several the last,
 * which is a piece, or the first, which stands for a byte. */
static int longest_token(const Tokenizer *t, const char *text, size_t most, bool last) {
    int best = -1;
    size_t longest = 0, length;
    for (int id = 0; id < tokenizer_size(t); id++) {
        const char *bytes = tokenizer_bytes(t, id, &length);
        if (length == 0 || length > most || strncmp(text, bytes, length) != 0) continue;
        if (length > longest || (length == longest && last)) {
            longest = length;
            best = id;
        }
    }
    return best;
}

static int *piece_by_piece(const Tokenizer *t, size_t length, const char *text, size_t *count,
                           size_t most, bool last) {
    int *ids = begin(t, length, count);
    char spaced[length + 2];
    size_t bytes;
    snprintf(spaced, sizeof spaced, " %.*s", (int)length, text);
    for (const char *rest = spaced; *rest; rest += bytes) {
        ids[*count] = longest_token(t, rest, most, last);
        tokenizer_bytes(t, ids[(*count)++], &bytes);
    }
    return ids;
}

static int *longest_first(const Tokenizer *t, size_t length, const char *text, size_t *count) {
    return piece_by_piece(t, length, text, count, SIZE_MAX, true);
}
static int *letter_by_letter(const Tokenizer *t, size_t length, const char *text, size_t *count) {
    return piece_by_piece(t, length, text, count, 1, true);
}
static int *byte_by_byte(const Tokenizer *t, size_t length, const char *text, size_t *count) {
    return piece_by_piece(t, length, text, count, 1, false);
}

typedef int *Encode(const Tokenizer *t, size_t length, const char *text, size_t *count);

static Encode *encoding(Mistake mistake) {
    switch (mistake) {
    case NO_BOS: return without_bos;
    case TWO_BOS: return with_two_bos;
    case NO_PREFIX: return without_prefix;
    case SPACE_BEFORE_ANSWER: return space_before_answer;
    case LONGEST_FIRST: return longest_first;
    case LETTER_BY_LETTER: return letter_by_letter;
    case BYTE_BY_BYTE: return byte_by_byte;
    default: return encode_with_bos;
    }
}

/* ------------------------------------------------------------------ what it is asked */

typedef struct {
    int mistake; /* its row in the table of mistakes */
    int right, questions;
    double perplexity;
    char *answer; /* to the sentence: " Anna has the red ball." */
} Result;

/* The questions of the stories; the stories as they are; and the sentence. */
static Result examine(Examinee *examinee, int count, char *stories[count], const char *sentence) {
    Result result = {0};
    double sum = 0;
    int tokens = 0;
    for (int i = 0; i < count; i++) {
        result.right += ask(examinee, stories[i], &result.questions);
        tokens += add_surprise(examinee, stories[i], &sum);
    }
    result.perplexity = exp(sum / tokens);
    size_t length;
    FILE *file = open_memstream(&result.answer, &length);
    say(examinee, sentence, 12, ".\n", greedy, file);
    fclose(file);
    result.answer[strcspn(result.answer, "\n")] = '\0'; /* a row of a table */
    return result;
}

/* ------------------------------------------------------------------ the tables */

/* Without a mistake, the logits are those of chapter 9's decoder, to 30 ulps of numbers up to 16.
 */
static void compare_with_decoder(Examinee *examinee, const char *text) {
    int V = examinee->model->config.V;
    float ours[V], theirs[V];
    size_t T;
    int *ids = encode_with_bos(examinee->tokenizer, strlen(text), text, &T);
    Decoder decoder = decoder_new(examinee->model, &fast_kernels, (int)T);
    decoder_eval(&decoder, (int)T, ids);
    decoder_logits(&decoder, theirs);
    read_text(examinee, (int)T, ids, V, ours);
    for (int v = 0; v < V; v++)
        if (!(fabsf(ours[v] - theirs[v]) < 3e-5f))
            fail("logit %d is %g, and %g in chapter 9", v, ours[v], theirs[v]);
    decoder_free(&decoder);
    free(ids);
}

static void print_result(Table *table, const char *part, const Result *result) {
    char perplexity[32] = "over a million";
    const char *format = result->perplexity < 100 ? "%.2f" : "%.0f";
    if (result->perplexity < 1e6)
        snprintf(perplexity, sizeof perplexity, format, result->perplexity);
    table_row(table, "%s%s%s|%.0f %%|%s|%s", part, *part ? ": " : "",
              mistakes[result->mistake].what, 100.0 * result->right / result->questions, perplexity,
              result->answer + (*result->answer == ' '));
}

static void print_section(const char *title, bool whole, const Result results[MISTAKES]) {
    Table table = {0};
    section("%s", title);
    table_row(&table, "change|correct|perplexity|<answer");
    for (int i = 0; i < MISTAKES; i++) {
        const char *part = mistakes[results[i].mistake].part;
        if (whole || !*part || strcmp(part, title) == 0)
            print_result(&table, whole ? part : "", &results[i]);
    }
    table_print(&table, stdout);
}

/* What the tables show as the same is in the order of the chapters. */
static int from_harmless_to_fatal(const void *left, const void *right) {
    const Result *a = left, *b = right;
    double worse = round(100 * a->perplexity) - round(100 * b->perplexity);
    if (a->right != b->right) return b->right - a->right;
    return worse > 0 ? 1 : worse < 0 ? -1 : a->mistake - b->mistake;
}

static void print_all(int stories, const char *sentence, Result results[MISTAKES]) {
    double right = (double)results[0].right / results[0].questions;
    printf("What each part does to the model of chapter 9: one mistake is made in it, and it reads "
           "%d unseen stories.\n"
           "`make ablations` computes this page anew.\n\n"
           "correct           of %d questions about these stories (standard error: %.1f points at "
           "%.0f %%, %.1f at 50 %%)\n"
           "perplexity        of a token of these stories with all their questions and answers\n"
           "answer            to \"",
           stories, results[0].questions, 100 * sqrt(right * (1 - right) / results[0].questions),
           100 * right, 100 * sqrt(0.25 / results[0].questions));
    for (const char *c = sentence; *c; c++) putchar(*c == '\n' ? ' ' : *c);
    printf("\"\n");
    for (int i = 1; i < MISTAKES; i++)
        if (strcmp(mistakes[i].part, mistakes[i - 1].part) != 0)
            print_section(mistakes[i].part, false, results);
    qsort(results, MISTAKES, sizeof *results, from_harmless_to_fatal);
    print_section("All of them", true, results);
}

int main(void) {
    static Result results[MISTAKES];
    Study study = study_open(OUR_MODEL);
    const Config *c = &study.model.config;
    size_t rows = (size_t)c->L * LETTERS * c->KV * c->D;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < MISTAKES; i++) {
        Llama llama = {.examinee = {.model = &study.model,
                                    .tokenizer = study.tokenizer,
                                    .read = read_tokens,
                                    .encode = encoding(mistakes[i].mistake),
                                    .capacity = LETTERS,
                                    .sees_ahead = mistakes[i].mistake == NO_MASK},
                       .mistake = mistakes[i].mistake,
                       .layer = mistakes[i].layer,
                       .by_token = strcmp(mistakes[i].part, "KV cache") == 0,
                       .keys = calloc(rows, sizeof(float)),
                       .values = calloc(rows, sizeof(float))};
        if (i == 0) compare_with_decoder(&llama.examinee, study.prompt);
        results[i] = examine(&llama.examinee, study.count, study.stories, study.prompt);
        results[i].mistake = i;
        free(llama.keys);
        free(llama.values);
    }
    print_all(study.count, study.prompt, results);
    for (int i = 0; i < MISTAKES; i++) free(results[i].answer);
    study_close(&study);
    return 0;
}
