#include "17_training/mixture.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ FILE[:weight[:epochs]] */

/* Whether the text, which was `spec`, ends in ":NUMBER", or ":" alone. That is cut off; nothing
 * between them is 0. */
static bool cut_number(const char *spec, char *text, double *number) {
    char *colon = strrchr(text, ':');
    if (!colon || colon == text || colon[1 + strspn(colon + 1, "0123456789.eE+-")] != '\0')
        return false;
    char *end;
    *number = strtod(colon + 1, &end);
    if (colon[1] && (*end || !(*number >= 1e-9 && *number <= 1e9)))
        usage_error("%s: \"%s\" is no share of the data, nor how often a file is read: those are "
                    "from 1e-09 to 1e+09",
                    spec, colon + 1);
    *colon = '\0';
    return true;
}

static Source source_of(const char *spec) {
    Source source = {.path = xstrndup(spec, strlen(spec))};
    double last;
    if (!cut_number(spec, source.path, &last)) return source;
    if (cut_number(spec, source.path, &source.weight)) source.epochs = last;
    else source.weight = last;
    return source;
}

/* ------------------------------------------------------------------ packing */

/* Another generator for each purpose: `seed`, and what it is for. */
static Random random_for(uint64_t seed, uint64_t source, uint64_t epoch) {
    Random random = {seed};
    random.state = random_bits(&random) + source;
    random.state = random_bits(&random) + epoch;
    return (Random){random_bits(&random)};
}

/* As it is, or shuffled. Fisher, Yates: every order is as likely. */
static void make_order(bool as_it_is, Random random, size_t count, size_t order[count]) {
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t i = count; i > 1 && !as_it_is; i--) {
        size_t other = (size_t)(random_bits(&random) % i), was = order[i - 1];
        order[i - 1] = order[other];
        order[other] = was;
    }
}

/* The state of packing documents into sequences of T tokens. */
typedef struct {
    Source *source;
    int T, room;        /* what is left of the sequence that was begun last */
    size_t count, most; /* pieces, and how many there is memory for */
} Packing;

static void begin_sequence(Packing *p) {
    Source *s = p->source;
    s->first = xrealloc(s->first, size_mul(s->count + 2, sizeof *s->first));
    s->first[s->count++] = p->count;
    s->first[s->count] = p->count;
    p->room = p->T;
}

static void add_piece(Packing *p, Span piece) {
    Source *s = p->source;
    if (p->count == p->most)
        s->pieces = xrealloc(s->pieces, size_mul(p->most = 2 * p->most + 64, sizeof *s->pieces));
    s->pieces[p->count++] = piece;
    s->first[s->count] = p->count;
    p->room -= (int)piece.length;
}

/* Documents one behind the other; where a sequence is full, the next goes on. The last token of a
 * piece is the first of the next: so every token but a document's first is told once. */
static void pack_pieces(Packing *p, const Documents *d, const size_t order[d->count]) {
    for (size_t i = 0; i < d->count; i++)
        for (Span rest = d->spans[order[i]]; rest.length > 1;) {
            size_t room = (size_t)(p->room < 2 ? p->T : p->room),
                   length = rest.length < room ? rest.length : room;
            bool teaches = documents_have_loss(d, rest.begin, length);
            if (teaches && p->room < 2) begin_sequence(p);
            if (teaches) add_piece(p, (Span){rest.begin, length});
            rest.begin += length - 1;
            rest.length -= length - 1;
        }
}

enum { WAITING = 64 }; /* documents among which the next sequence is looked for */

/* Finds the reachable sums of document lengths, always with the first waiting document (subset
 * sum). last[sum] is the last document of such a subset, or -1. The loop runs backwards so that
 * no sum uses a document twice. */
static void find_sums(int T, const Documents *d, int waiting, const size_t wait[waiting],
                      int16_t last[T + 1]) {
    for (int sum = 0; sum <= T; sum++) last[sum] = -1;
    last[d->spans[wait[0]].length] = 0;
    for (int i = 1; i < waiting; i++) {
        int length = (int)d->spans[wait[i]].length;
        for (int sum = T; sum >= length; sum--)
            if (last[sum] < 0 && last[sum - length] >= 0) last[sum] = (int16_t)i;
    }
}

/* With those that leave as little room as can be, together with the first of them, which has waited
 * longest. */
static void fill_sequence(Packing *p, const Documents *d, int *waiting, size_t wait[WAITING],
                          int16_t last[p->T + 1]) {
    bool chosen[WAITING] = {true};
    int sum = p->T, left = 0;
    find_sums(p->T, d, *waiting, wait, last);
    while (last[sum] < 0) sum--;
    for (; last[sum] > 0; sum -= (int)d->spans[wait[last[sum]]].length) chosen[last[sum]] = true;
    begin_sequence(p);
    for (int i = 0; i < *waiting; i++) {
        if (chosen[i]) add_piece(p, d->spans[wait[i]]);
        else wait[left++] = wait[i];
    }
    *waiting = left;
}

static void pack_documents(Packing *p, const Documents *d, const size_t order[d->count]) {
    size_t wait[WAITING], taken = 0;
    int16_t *last = xmalloc(((size_t)p->T + 1) * sizeof *last);
    for (int waiting = 0;;) {
        while (waiting < WAITING && taken < d->count) wait[waiting++] = order[taken++];
        if (!waiting) break;
        fill_sequence(p, d, &waiting, wait, last);
    }
    free(last);
}

static void pack(Source *s, const Reading *reading, Random random) {
    const Documents *d = &s->documents;
    Packing p = {.source = s, .T = reading->T};
    size_t *order = xmalloc(d->count * sizeof *order);
    make_order(reading->no_shuffle, random, d->count, order);
    if (reading->split_documents) pack_pieces(&p, d, order);
    else pack_documents(&p, d, order);
    s->order = xmalloc(s->count * sizeof *s->order);
    free(order);
}

Mixture mixture_open(int count, const char *const specs[], const Reading *reading, uint64_t seed) {
    Mixture mixture = {
        .T = reading->T, .count = count, .no_shuffle = reading->no_shuffle, .seed = seed};
    for (int i = 0; i < count; i++) {
        Source *source = &mixture.sources[i];
        *source = source_of(specs[i]);
        source->documents = documents_read(source->path, reading);
        pack(source, reading, random_for(seed, (uint64_t)i, UINT64_MAX));
    }
    mixture_whole(&mixture, false);
    mixture_seek(&mixture, 0);
    return mixture;
}

void mixture_free(Mixture *mixture) {
    for (Source *s = mixture->sources; s < mixture->sources + mixture->count; s++) {
        documents_free(&s->documents);
        free(s->path);
        free(s->first);
        free(s->pieces);
        free(s->order);
    }
    *mixture = (Mixture){0};
}

/* ------------------------------------------------------------------ which file is next */

size_t mixture_whole(Mixture *mixture, bool only) {
    size_t whole = 0;
    for (Source *s = mixture->sources; s < mixture->sources + mixture->count; s++) {
        double epochs = s->epochs > 0 ? s->epochs : 1;
        size_t said = (size_t)fmax(1, floor(epochs * (double)s->count + 0.5));
        s->limit = s->epochs > 0 || only ? said : SIZE_MAX;
        whole += said;
    }
    return whole;
}

/* Without a weight a file's share is what it has. */
static double weight_of(const Source *s) {
    if (s->drawn == s->limit) return 0;
    return s->weight > 0 ? s->weight : (double)s->count * (s->epochs > 0 ? s->epochs : 1);
}

/* Each file is owed its share of a sequence; the one that is owed most has its turn, and pays a
 * whole one. NULL: all are read. */
static Source *next_source(Mixture *mixture) {
    double weights = 0;
    for (int i = 0; i < mixture->count; i++) weights += weight_of(&mixture->sources[i]);
    Source *next = NULL;
    for (Source *s = mixture->sources; s < mixture->sources + mixture->count; s++) {
        if (s->drawn == s->limit) continue;
        double share = weight_of(s) / weights;
        s->credit += share;
        if (!next || s->credit > next->credit) next = s;
    }
    if (next) next->credit -= 1;
    return next;
}

static void begin_epoch(const Mixture *mixture, Source *s, size_t epoch) {
    s->epoch = epoch;
    Random random = random_for(mixture->seed, (uint64_t)(s - mixture->sources), epoch);
    make_order(mixture->no_shuffle, random, s->count, s->order);
}

/* The sequence's number, counted on over all epochs, is drawn; its order is made when it is read.
 */
static bool advance(Mixture *mixture, Source **from) {
    *from = next_source(mixture);
    if (!*from) return false;
    (*from)->drawn++;
    mixture->drawn++;
    return true;
}

bool mixture_seek(Mixture *mixture, size_t drawn) {
    for (Source *s = mixture->sources; s < mixture->sources + mixture->count; s++) {
        s->credit = 0;
        s->drawn = 0;
        s->epoch = SIZE_MAX;
    }
    mixture->drawn = 0;
    for (Source *from; mixture->drawn < drawn;)
        if (!advance(mixture, &from)) return false;
    return true;
}

/* ------------------------------------------------------------------ the tokens */

void mixture_sequence(const Mixture *mixture, const Source *source, size_t s, int ids[mixture->T],
                      int targets[mixture->T], float counts[mixture->T]) {
    const Documents *d = &source->documents;
    int t = 0;
    for (size_t p = source->first[s]; p < source->first[s + 1]; p++) {
        const Span *piece = &source->pieces[p];
        size_t end = piece->begin + piece->length;
        for (size_t i = piece->begin; i < end; i++, t++) {
            ids[t] = d->ids[i];
            counts[t] = i + 1 < end ? d->loss_weight[i + 1] : 0;
            targets[t] = counts[t] > 0 ? d->ids[i + 1] : -1;
        }
    }
    for (; t < mixture->T; t++) {
        ids[t] = 0;
        targets[t] = -1;
        counts[t] = 0;
    }
}

void mixture_next(Mixture *mixture, int B, int ids[B][mixture->T], int targets[B][mixture->T],
                  float counts[B][mixture->T]) {
    for (int b = 0; b < B; b++) {
        Source *from;
        if (!advance(mixture, &from))
            fail("the data are read as often as they may be, after %zu sequences", mixture->drawn);
        size_t number = from->drawn - 1, epoch = number / from->count;
        if (epoch != from->epoch) begin_epoch(mixture, from, epoch);
        mixture_sequence(mixture, from, from->order[number % from->count], ids[b], targets[b],
                         counts[b]);
    }
}

/* ------------------------------------------------------------------ what there is */

uint64_t fingerprint_mix(uint64_t fingerprint, uint64_t number) {
    return (fingerprint ^ number) * 0x100000001b3u;
}

uint64_t mixture_fingerprint(const Mixture *mixture) {
    uint64_t hash = fingerprint_mix(0xcbf29ce484222325u, (uint64_t)mixture->T);
    for (const Source *s = mixture->sources; s < mixture->sources + mixture->count; s++) {
        const Documents *d = &s->documents;
        hash = fingerprint_mix(fingerprint_mix(hash, (uint64_t)llround(s->weight * 1e6)),
                               (uint64_t)llround(s->epochs * 1e6));
        for (size_t i = 0; i < d->count; i++)
            hash = fingerprint_mix(fingerprint_mix(hash, d->spans[i].begin), d->spans[i].length);
        for (size_t i = 0; i < d->tokens; i++)
            hash = fingerprint_mix(fingerprint_mix(hash, (uint64_t)d->ids[i]),
                                   (uint64_t)llround((double)d->loss_weight[i] * 1e6));
    }
    return hash;
}

/* The share of the sequences' places that hold no token. */
static double left_over(const Source *s, int T) {
    double used = 0;
    for (size_t i = 0; i < s->first[s->count]; i++) used += (double)s->pieces[i].length;
    return 1 - used / ((double)s->count * T);
}

void mixture_print(Mixture *mixture, size_t drawn) {
    Table table = {0};
    mixture_seek(mixture, drawn);
    table_row(&table, "data|documents|tokens|sequences|filled up|share|times read");
    for (const Source *s = mixture->sources; s < mixture->sources + mixture->count; s++) {
        char *path = as_cell(xstrndup(s->path, strlen(s->path)));
        table_row(&table, "%s|%zu|%zu|%zu|%.1f %%|%.1f %%|%.2f", path, s->documents.count,
                  s->documents.tokens, s->count, 100 * left_over(s, mixture->T),
                  100.0 * (double)s->drawn / (double)drawn, (double)s->drawn / (double)s->count);
        free(path);
    }
    table_print(&table, stdout);
    mixture_seek(mixture, 0);
}
