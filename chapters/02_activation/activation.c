#include "02_activation/activation.h"

#include <math.h>

/* Everything is computed in double and rounded once: a sum such as 1 + erf(x) or 1 - sigmoid(x)
 * loses the digits that a small result is made of. Where even a double would lose them, the same
 * number is written without the sum: erfc for 1 + erf, a sigmoid for 1 + tanh. */

void relu(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++)
        out[i] = x[i] <= 0 ? 0 : x[i]; /* not x > 0 ? x : 0, which would swallow NaN */
}

void silu(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) out[i] = (float)(x[i] / (1 + exp(-x[i])));
}

/* From 0 to 1. Not e^x / (1 + e^x), which is infinity / infinity for a large x. */
static double logistic(double x) { return 1 / (1 + exp(-x)); }

void sigmoid(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) out[i] = (float)logistic(x[i]);
}

/* ------------------------------------------------------------------ slopes */

void relu_derivative(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) out[i] = x[i] <= 0 ? 0 : 1;
}

/* The product rule: sigmoid(x) + x times the slope of sigmoid. */
void silu_derivative(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) {
        double s = logistic(x[i]);
        out[i] = (float)(s + x[i] * s * (1 - s));
    }
}

void sigmoid_derivative(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) {
        double s = logistic(-fabs(x[i])); /* the slope is the same at -x, where 1 - s is exact */
        out[i] = (float)(s * (1 - s));
    }
}

/* ------------------------------------------------------------------ GELU, and its approximation */

/* The normal distribution's density and, as Phi(x) = (1 + erf(x / sqrt(2))) / 2, the distribution
 * itself: 0.3989… is 1 / sqrt(2 pi), 0.7071… is 1 / sqrt(2). */
static double normal_density(double x) { return exp(-x * x / 2) * 0.39894228040143267794; }
static double normal_distribution(double x) { return erfc(-x * 0.70710678118654752440) / 2; }

void gelu(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) out[i] = (float)(x[i] * normal_distribution(x[i]));
}

void gelu_derivative(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++)
        out[i] = (float)(normal_distribution(x[i]) + x[i] * normal_density(x[i]));
}

/* (1 + tanh(u)) / 2 = sigmoid(2 u), so gelu_tanh is x sigmoid(a x + b x^3). */
static const double a = 2 * 0.79788456080286535588; /* 2 sqrt(2/pi) */
static const double b = 2 * 0.79788456080286535588 * 0.044715;

void gelu_tanh(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) {
        double z = x[i];
        out[i] = (float)(z * logistic(a * z + b * z * z * z));
    }
}

void gelu_tanh_derivative(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) {
        double z = x[i], s = logistic(a * z + b * z * z * z);
        out[i] = (float)(s + z * s * (1 - s) * (a + 3 * b * z * z));
    }
}

/* ------------------------------------------------------------------ Swish: SiLU with a beta */

void swish(int n, float out[n], const float x[n], float beta) {
    for (int i = 0; i < n; i++) out[i] = (float)(x[i] * logistic((double)beta * x[i]));
}

void swish_derivative(int n, float out[n], const float x[n], float beta) {
    for (int i = 0; i < n; i++) {
        double s = logistic((double)beta * x[i]);
        out[i] = (float)(s + (double)beta * x[i] * s * (1 - s));
    }
}
