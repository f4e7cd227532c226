/* verify: 1 of 3 kernels pass */
/* rms_norm: not judged
 * What is included from the course is nobody's solution. */
#define layer_norm somebody_elses
#define batch_norm another_one
#define dyt a_third
#define rms_norm_bf16_round_once a_fourth
#include "01_normalization/normalization.c"
#undef dyt

/* dyt: PASS: 24 random shapes agree */
void dyt(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim], const float weight[dim],
         const float bias[dim], float alpha) {
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < dim; i++) out[r][i] = (float)(tanh((double)alpha * x[r][i]) * weight[i] + bias[i]);
}
