/* Chapter 12: fast_rms_norm() and fast_swiglu(), in float32 where the lessons compute in double. */
#include "12_speed/exponential.h"
#include "12_speed/fast_kernels.h"

#include <math.h>

/* Half of the lanes, which as doubles fill a register. */
typedef float Half __attribute__((vector_size(LANES / 2 * sizeof(float)), aligned(1), may_alias));
typedef double Doubles __attribute__((vector_size(LANES / 2 * sizeof(double))));

/* Four vectors are made before the first is written. Whether a read is of what is just being
 * written a processor asks at first of the last twelve bits of their addresses alone: where `out`
 * lies a multiple of 4096 bytes and a little behind x, each vector's read would wait for the write
 * of the one before. (On a Zen 4, with `out` 64 to 512 bytes behind, a row of RMSNorm took up to a
 * fifth longer; so it takes the same wherever `out` lies.) */
static void write_four(float out[4 * LANES], const Vector four[4]) {
    UNROLLED
    for (int j = 0; j < 4; j++) *(Vector *)&out[j * LANES] = four[j];
}

/* All numbers of the row depend on this sum. Four squares at a time are added in float32, which is
 * a few roundings; what comes of these is a double, for the more there is to add the more would be
 * rounded away. */
static double sum_of_squares(int dim, const float x[dim]) {
    Doubles low = {0}, high = {0};
    double sum = 0;
    int i = 0;
    for (; i + 4 * LANES <= dim; i += 4 * LANES) {
        float part[LANES];
        Vector four = {0};
        UNROLLED
        for (int j = 0; j < 4; j++)
            four += *(const Vector *)&x[i + j * LANES] * *(const Vector *)&x[i + j * LANES];
        *(Vector *)part = four;
        low += __builtin_convertvector(*(const Half *)part, Doubles);
        high += __builtin_convertvector(*(const Half *)&part[LANES / 2], Doubles);
    }
    low += high;
    for (int l = 0; l < LANES / 2; l++) sum += low[l];
    for (; i < dim; i++) sum += (double)x[i] * x[i];
    return sum;
}

void fast_rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                   const float weight[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        float scale = (float)(1 / sqrt(sum_of_squares(dim, x[r]) / dim + eps));
        int i = 0;
        for (; i + 4 * LANES <= dim; i += 4 * LANES) {
            Vector four[4];
            UNROLLED
            for (int j = 0; j < 4; j++)
                four[j] = *(const Vector *)&x[r][i + j * LANES] * scale *
                          *(const Vector *)&weight[i + j * LANES];
            write_four(&out[r][i], four);
        }
        for (; i < dim; i++) out[r][i] = x[r][i] * scale * weight[i];
    }
}

/* x / (1 + e^-x), both times 2^-32: below 0 the fraction is a number yet where e^-x is none. From
 * 32 on 1 + e^-x is 1, and what x has more than 32 is added as it is; below -111 the fraction is 0.
 */
INLINE Vector silu_of(Vector x) {
    const Vector zero = {0};
    Vector low = vector_min(zero + 32, x), power = exp_scaled(-32, -vector_max(zero - 111, low));
    return low / (0x1p-32f + power) * 0x1p-32f - (low - x);
}

static Vector gated(const float gate[LANES], const float up[LANES]) {
    return silu_of(*(const Vector *)gate) * *(const Vector *)up;
}

void fast_swiglu(int n, float out[n], const float gate[n], const float up[n]) {
    int i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        Vector four[4];
        UNROLLED
        for (int j = 0; j < 4; j++) four[j] = gated(&gate[i + j * LANES], &up[i + j * LANES]);
        write_four(&out[i], four);
    }
    for (; i + LANES <= n; i += LANES) *(Vector *)&out[i] = gated(&gate[i], &up[i]);
    for (; i < n; i++) {
        Vector open = silu_of((Vector){gate[i]});
        out[i] = open[0] * up[i];
    }
}
