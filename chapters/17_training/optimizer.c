#include "17_training/optimizer.h"
#include "16_backward/backward.h"

#include <math.h>
#include <string.h>

void adamw(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n], const float gradient[n],
           int step, float rate, float beta1, float beta2, float eps, float decay) {
    double b1 = beta1, b2 = beta2, kept = 1 - (double)rate * decay;
    /* m and v begin as 0: after `step` steps the shares of all gradients add up to 1 - beta^step, and not to 1. */
    double correction1 = 1 / (1 - pow(b1, step)), correction2 = 1 / (1 - pow(b2, step));
    for (size_t i = 0; i < n; i++) {
        double g = gradient[i];
        m[i] = (float)(b1 * m[i] + (1 - b1) * g);
        v[i] = (float)(b2 * v[i] + (1 - b2) * g * g);
        double mean = m[i] * correction1, size = sqrt(v[i] * correction2);
        weight[i] = (float)(kept * weight[i] - rate * mean / (size + eps));
    }
}

bool suits_muon(const Tensor *tensor) { return tensor->rank == 2 && strncmp(tensor->name, "model.layers.", 13) == 0; }

bool decays(const Tensor *tensor) { return tensor->rank >= 2; }

/* A norm of norms: the root of the sum of squares, whatever they were added up in. */
static double global_norm(int arrays, const size_t n[arrays], float *const gradient[arrays]) {
    double squares = 0;
    for (int a = 0; a < arrays; a++) {
        double norm = gradient_norm(n[a], gradient[a]);
        squares += norm * norm;
    }
    return sqrt(squares);
}

double clip_gradient(int arrays, const size_t n[arrays], float *const gradient[arrays], float max_norm) {
    double norm = global_norm(arrays, n, gradient), factor = max_norm / (norm + 1e-6);
    if (factor >= 1) return norm;
    for (int a = 0; a < arrays; a++)
        for (size_t i = 0; i < n[a]; i++) gradient[a][i] = (float)(gradient[a][i] * factor);
    return norm;
}

float learning_rate(int step, int warmup, int steps, float peak, float lowest) {
    if (step <= warmup) return (float)((double)peak * step / warmup);
    if (step >= steps) return lowest;
    double way = (double)(step - warmup) / (steps - warmup); /* 0 at the peak, 1 at the end */
    return (float)(lowest + ((double)peak - lowest) * (1 + cos(M_PI * way)) / 2);
}

void loss_shares(int batches, int rows, float shares[batches], const int targets[batches][rows]) {
    size_t all = count_targets((size_t)batches * (size_t)rows, targets[0]);
    for (int b = 0; b < batches; b++)
        shares[b] = all ? (float)((double)count_targets((size_t)rows, targets[b]) / (double)all) : 0;
}
