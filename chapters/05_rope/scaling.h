/* The rotation frequency of each pair of a head, and how it is scaled for texts longer than the
 * model was trained on.
 *
 * Pair i rotates by inv_freq[i] radians from one position to the next: rope_theta^(-2i/D). The
 * recipes for longer contexts make pairs slower, each in its own way: a pair that is slowed by 8
 * comes as far in 8 times the positions. */
#ifndef SCALING_H
#define SCALING_H

#include <stdbool.h>

typedef enum {
    ROPE_DEFAULT,
    ROPE_LINEAR,
    ROPE_DYNAMIC,
    ROPE_YARN,
    ROPE_LLAMA3,
    ROPE_LONGROPE,
    ROPE_FACTORS
} RopeType;

/* rope_parameters (once: rope_scaling and rope_theta) of config.json, by the same names. What a
 * type does not use is ignored. rope_theta is above 1, factor above 0, high_freq_factor above
 * low_freq_factor, and positions are at least 1; a 0 in beta_fast, beta_slow, attention_factor,
 * mscale and mscale_all_dim means "not given". */
typedef struct {
    RopeType rope_type;
    double rope_theta; /* 10000 in Llama 1 and 2, 500000 in Llama 3 */
    double factor;
    int max_position_embeddings;              /* dynamic */
    int original_max_position_embeddings;     /* llama3, yarn, longrope */
    double low_freq_factor, high_freq_factor; /* llama3 */
    double beta_fast, beta_slow;              /* yarn: 32 and 1 if not given */
    double attention_factor;                  /* yarn, longrope */
    double mscale, mscale_all_dim;            /* yarn */
    bool keep_fractions;                      /* yarn: truncate is false */
    /* A factor for each pair: [D/2] */
    const float *short_factor; /* longrope: within the old context, */
    const float *long_factor;  /* and beyond it */
    const float *factors;      /* factors: at any length, as a GGUF file has it */
} RopeParameters;

/* inv_freq[i] = rope_theta^(-2i/D), then stretched as the type says; in radians a position, in
 * float32, rounded at every step where transformers rounds: the same to the last bit, if powf()
 * gives what PyTorch's power gives. It is 1 ulp off in one or two of a hundred; so are default,
 * linear, dynamic and longrope then. Yarn and llama3 slide between two frequencies, and the closer
 * together the ends of the slide and the larger the factor, the more that ulp grows: with Llama's
 * own to 2, with a high_freq_factor beside the low_freq_factor and a factor of 30 to 8 and more.
 * `length` is the number of positions in use, which dynamic scaling and longrope depend on.
 * Returns the factor that cosine and sine are multiplied by: 1, but for yarn and longrope.
 * Source: ROPE_INIT_FUNCTIONS in modeling_rope_utils.py of transformers. */
float rope_frequencies(int D, float inv_freq[D / 2], const RopeParameters *parameters, int length);

/* fail() unless a head of width D can be cut into pairs. */
void check_pairs(int D);

#endif
