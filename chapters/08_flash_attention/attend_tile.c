#include "08_flash_attention/flash_attention.h"

#include <math.h>

void attend_tile(int keys, int D, double *m, double *l, double O[restrict D], const float q[D],
                 const float K[keys][D], const float V[keys][D]) {
    double score[keys], before = *m;
    for (int j = 0; j < keys; j++) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < D; i++) sum += (double)q[i] * K[j][i];
        score[j] = sum / sqrt(D);
        *m = fmax(*m, score[j]);
    }
    double shrink = exp(before - *m); /* what was summed under the old maximum counts less under the new */
    *l *= shrink;
    for (int i = 0; i < D; i++) O[i] *= shrink;
    for (int j = 0; j < keys; j++) {
        double weight = exp(score[j] - *m);
        *l += weight;
        for (int i = 0; i < D; i++) O[i] += weight * V[j][i];
    }
}
