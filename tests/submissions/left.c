/* Right answers, and something that is left behind for whoever calls next. */
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

/* relu: leaves another rounding mode behind */
void relu(int n, float out[n], const float x[n]) {
    fesetround(FE_TOWARDZERO);
    for (int i = 0; i < n; i++) out[i] = x[i] < 0 ? 0 : x[i];
}

#ifdef __SSE__
#define FLUSH _mm_setcsr(_mm_getcsr() | 0x8040)
#else
#define FLUSH fesetround(FE_UPWARD) /* elsewhere it is something else that is left */
#endif

/* relu_derivative: flush-to-zero mode|another rounding mode */
void relu_derivative(int n, float out[n], const float x[n]) {
    FLUSH;
    for (int i = 0; i < n; i++) out[i] = x[i] > 0;
}

static void ignore(int signal) { exit(signal); }

/* bilinear: leaves a handler for SIGSEGV behind */
void bilinear(int n, float out[n], const float gate[n], const float up[n]) {
    signal(SIGSEGV, ignore);
    for (int i = 0; i < n; i++) out[i] = gate[i] * up[i];
}
