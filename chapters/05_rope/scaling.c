#include "05_rope/scaling.h"
#include "common/error.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

void check_pairs(int D) {
    if (D < 2 || D % 2)
        fail("rope: a head of width %d cannot be cut into pairs: the width must be even", D);
}

/* Every step below is rounded where PyTorch rounds, because the position multiplies a difference in
 * the last bit. A compiler may fuse a product and the sum that follows into one instruction (FMA),
 * which rounds once; a product that goes through rounded() is rounded before it is added. */
static float rounded(float x) {
    volatile float stored = x;
    return stored;
}

/* Llama 3.1: pairs that turned less than once within the old context are slowed by `factor`; those
 * that turned more than four times stay as they are; between the two it slides. */
static float llama3_frequency(float frequency, const RopeParameters *p) {
    const int context = p->original_max_position_embeddings;
    float wavelength = 1 / frequency * (float)(2 * pi); /* in positions */
    if (wavelength > (float)(context / p->low_freq_factor)) return frequency / (float)p->factor;
    if (wavelength < (float)(context / p->high_freq_factor)) return frequency;
    float turns = rounded(1 / wavelength * (float)context); /* within the old context */
    float smooth =
        (turns - (float)p->low_freq_factor) / (float)(p->high_freq_factor - p->low_freq_factor);
    return rounded((1 - smooth) * frequency / (float)p->factor) + rounded(smooth * frequency);
}

/* Position interpolation: all pairs are slowed alike, as if the positions were divided. */
static float linear_frequency(float frequency, const RopeParameters *p) {
    return frequency / (float)p->factor;
}

/* Dynamic NTK: past the trained length the base grows with the length, so that the slowest pair
 * just fits. */
static double dynamic_theta(int D, const RopeParameters *p, int length) {
    if (D == 2) fail("rope: dynamic scaling needs a head wider than 2");
    double stretch = fmax((double)length / p->max_position_embeddings, 1);
    return p->rope_theta * pow(p->factor * stretch - (p->factor - 1), D / (D - 2.0));
}

/* The pair that turns `rotations` times within the old context: yarn's find_correction_dim. */
static double yarn_pair(int D, double rotations, const RopeParameters *p) {
    return D * log(p->original_max_position_embeddings / (rotations * 2 * pi)) /
           (2 * log(p->rope_theta));
}

/* Yarn slides over the pairs' numbers where llama3 slides over their turns. `base` is theta^(2i/D).
 */
static float yarn_frequency(int D, int i, float base, const RopeParameters *p) {
    double low = yarn_pair(D, p->beta_fast ? p->beta_fast : 32, p);
    double high = yarn_pair(D, p->beta_slow ? p->beta_slow : 1, p);
    if (!p->keep_fractions) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, D - 1);
    if (low == high) high += 0.001; /* or the slide would divide by zero */
    float slide = fminf(fmaxf(((float)i - (float)low) / (float)(high - low), 0), 1);
    float keep = 1 - slide;
    return rounded(1 / ((float)p->factor * base) * (1 - keep)) + rounded(1 / base * keep);
}

/* Attention over a longer context is flatter; yarn sharpens it again by scaling q and k. */
static double yarn_mscale(double factor, double mscale) {
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

static float yarn_attention_factor(const RopeParameters *p) {
    if (p->attention_factor) return (float)p->attention_factor;
    if (p->mscale && p->mscale_all_dim)
        return (float)(yarn_mscale(p->factor, p->mscale) /
                       yarn_mscale(p->factor, p->mscale_all_dim));
    return (float)yarn_mscale(p->factor, 1);
}

/* LongRoPE: somebody searched for the best factor of each pair, for short texts and for long ones.
 * `base` is theta^(2i/D). */
static float longrope_frequency(int i, float base, const RopeParameters *p, int length) {
    const float *factors =
        length > p->original_max_position_embeddings ? p->long_factor : p->short_factor;
    return 1 / (factors[i] * base);
}

/* Sharper at any length, so that the model need not be told how long a text will be. */
static float longrope_attention_factor(const RopeParameters *p) {
    if (p->attention_factor) return (float)p->attention_factor;
    return (float)(p->factor <= 1
                       ? 1
                       : sqrt(1 + log(p->factor) / log(p->original_max_position_embeddings)));
}

float rope_frequencies(int D, float inv_freq[D / 2], const RopeParameters *p, int length) {
    check_pairs(D);
    double theta = p->rope_type == ROPE_DYNAMIC ? dynamic_theta(D, p, length) : p->rope_theta;
    for (int i = 0; i < D / 2; i++) {
        float base = powf((float)theta, (float)(2 * i) / (float)D), frequency = 1 / base;
        if (p->rope_type == ROPE_LLAMA3) frequency = llama3_frequency(frequency, p);
        if (p->rope_type == ROPE_LINEAR) frequency = linear_frequency(frequency, p);
        if (p->rope_type == ROPE_YARN) frequency = yarn_frequency(D, i, base, p);
        if (p->rope_type == ROPE_LONGROPE) frequency = longrope_frequency(i, base, p, length);
        if (p->rope_type == ROPE_FACTORS) frequency /= p->factors[i];
        inv_freq[i] = frequency;
    }
    if (p->rope_type == ROPE_YARN) return yarn_attention_factor(p);
    return p->rope_type == ROPE_LONGROPE ? longrope_attention_factor(p) : 1;
}
