/* Calls of the samplers: the logits of V tokens, changed. */
#include "11_generation/sampling.h"
#include "tests/judge/kernels.h"

#include <math.h>

static void unpack_temperature(Function kernel, const Call *c) {
    AS(temperature, kernel)(dimension(c, "logits", 0), output(c), argument(c, "logits"), scalar(c, "T"));
}

static void unpack_top_k(Function kernel, const Call *c) {
    AS(top_k, kernel)(dimension(c, "logits", 0), output(c), argument(c, "logits"), whole_number(c, "k"));
}

static void unpack_top_p(Function kernel, const Call *c) {
    AS(top_p, kernel)(dimension(c, "logits", 0), output(c), argument(c, "logits"), scalar(c, "p"));
}

static void unpack_min_p(Function kernel, const Call *c) { unpack_top_p(kernel, c); }

static void unpack_penalty(Function kernel, const Call *c) {
    AS(repetition_penalty, kernel)(dimension(c, "logits", 0), dimension(c, "ids", 0), output(c),
                       argument(c, "logits"), argument(c, "ids"), scalar(c, "penalty"));
}

static int random_logits(Call *call, Random *random, Size size) {
    size_t V = extent(random, size, 1, 500, 1024, 128256);
    random_input(call, random, "logits", 1, SHAPE(V));
    call_output(call, F32, 1, SHAPE(V));
    return (int)V;
}

static int more_logits(Call *call, Random *random, size_t V) {
    call_free(call);
    random_input(call, random, "logits", 1, SHAPE(V));
    call_output(call, F32, 1, SHAPE(V));
    return (int)V;
}

/* Temperatures from the lowest that is allowed to the highest; each power of ten is equally likely.
 */
static void random_temperature(Call *call, Random *random, Size size) {
    random_logits(call, random, size);
    double usual = MIN_TEMPERATURE * pow(MAX_TEMPERATURE / MIN_TEMPERATURE, random_uniform(random));
    scalar_or_special(call, random, size, "T", usual, SPECIAL(1));
}

static void random_top_k(Call *call, Random *random, Size size) {
    /* A long k goes with a V that is somewhat longer: who seeks the largest k times has V k steps.
     */
    int V = random_logits(call, random, size);
    int k = (int)extent_squared(random, size, 1, 50, 50, 50);
    if (size == LONG && k > 50) V = more_logits(call, random, (size_t)k + 9);
    index_input(call, "k", k < V ? k : V);
}

static void random_min_p(Call *call, Random *random, Size size) {
    int V = random_logits(call, random, size);
    /* Of thousands of tokens that are all about as likely, rounding decides which is the last. */
    float *logits = (void *)argument(call, "logits");
    for (int i = 0; size == LONG && i < V; i++) logits[i] *= 8;
    scalar_input(call, "p", 0.05f + 0.9f * (float)random_uniform(random));
}

/* Of a long vocabulary, thousands of tokens share nearly everything: more than a short list of
 * candidates has room for. p is between what the last of them but one and the last reach, so that
 * rounding does not decide which the last is. */
static void random_top_p(Call *call, Random *random, Size size) {
    enum { NUCLEUS = 4100 };
    if (size != LONG) {
        random_min_p(call, random, size);
        return;
    }
    int V = random_logits(call, random, size), step = V / NUCLEUS;
    float *logits = (void *)argument(call, "logits");
    double all = 0, least = 1;
    for (int i = 0; i < V; i++) {
        bool likely = i % step == 0 && i / step < NUCLEUS;
        logits[i] = logits[i] / 10 - (likely ? 0 : 30);
        double exponential = exp(logits[i]);
        all += exponential;
        if (likely && exponential < least) least = exponential;
    }
    scalar_input(call, "p", (float)(1 - least / all / 2));
}

static void random_penalty(Call *call, Random *random, Size size) {
    int V = random_logits(call, random, size);
    int n = size == LONG  ? (int)extent(random, size, 20, 20, 20, 20)
            : size == FAR ? 400
                          : 20,
        *ids = call_input(call, "ids", I32, 1, SHAPE((size_t)n));
    for (int i = 0; i < n; i++) ids[i] = random_between(random, 0, V - 1);
    scalar_or_special(call, random, size, "penalty", 1.05 + random_uniform(random),
                      SPECIAL(1, 0.8));
}

const Kernel generation_kernels[] = {
    {KERNEL(repetition_penalty, "11_generation", penalty), .pointwise = true,
     .in_place = {"logits"}},
    {KERNEL(temperature, "11_generation", temperature), .pointwise = true, .in_place = {"logits"}},
    {KERNEL(top_k, "11_generation", top_k), .pointwise = true, .in_place = {"logits"}},
    {KERNEL(top_p, "11_generation", top_p), .pointwise = true, .in_place = {"logits"}},
    {KERNEL(min_p, "11_generation", min_p), .pointwise = true, .in_place = {"logits"}},
    {0},
};
