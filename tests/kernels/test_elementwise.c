/* fast_rms_norm() and fast_swiglu(): the workbench's verdict, and how exact they are. */
#include "12_speed/fast_kernels.h"
#include "common/error.h"
#include "common/random.h"
#include "tests/program.h"

#include <math.h>

/* As if a reader had written them: PyTorch's cases, random shapes beside the chapters' own, guarded
 * arrays. */
static void the_workbench_says_right(void **) {
    assert_runs("sh '%s/compile.sh' fast.c.so -Dfast_rms_norm=rms_norm -Dfast_swiglu=swiglu "
                "'%s/chapters/12_speed/elementwise.c' && '%s/verify' --library fast.c.so",
                BUILD, ROOT, BUILD);
    assert_said("2 of 2 kernels pass\n");
}

/* In the last places of a float32 of that size, subnormal or not. */
static double ulps(double got, double right) {
    return fabs(got - right) / ldexp(1, (right == 0 ? -126 : fmax(ilogb(right), -126)) - 23);
}

static double worst_of_some_gates(uint32_t first, int n) {
    float gate[n], up[n], out[n];
    double worst = 0;
    for (int i = 0; i < n; i++) {
        uint32_t bits = first + (uint32_t)i * 1021;
        memcpy(&gate[i], &bits, sizeof bits);
        up[i] = i % 2 ? 1 : -1;
    }
    fast_swiglu(n, out, gate, up);
    for (int i = 0; i < n; i++)
        if (isfinite(gate[i]))
            worst = fmax(worst, ulps(out[i], gate[i] / (1 + exp(-(double)gate[i])) * up[i]));
        else assert_true(isnan(gate[i]) || gate[i] < 0 ? isnan(out[i]) : isinf(out[i]));
    return worst;
}

/* Every thousandth float32, in pieces of every length: an error of e^x, and three roundings. */
static void a_gate_is_exact(void **) {
    double worst = 0;
    int n = 1;
    for (uint64_t first = 0; first < 1ull << 32; first += (uint64_t)n * 1021, n = n % 77 + 1)
        worst = fmax(worst, worst_of_some_gates((uint32_t)first, n));
    if (!(worst <= 3)) fail_msg("a gate is wrong by %.2f ulps", worst);
}

/* A double's sum, and three roundings. */
static void a_norm_is_exact(void **) {
    Random random = {1};
    double worst = 0;
    for (int dim = 1; dim <= 4096; dim = dim * 5 / 4 + 1) {
        float x[dim], weight[dim], out[dim];
        double squares = 0;
        random_fill(&random, (size_t)dim, x);
        random_fill(&random, (size_t)dim, weight);
        for (int i = 0; i < dim; i++) squares += (double)x[i] * x[i];
        fast_rms_norm(1, dim, (void *)out, (void *)x, weight, 1e-5F);
        for (int i = 0; i < dim; i++)
            worst = fmax(worst, ulps(out[i], x[i] / sqrt(squares / dim + 1e-5F) * weight[i]));
    }
    if (!(worst <= 3)) fail_msg("a norm is wrong by %.2f ulps", worst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_workbench_says_right),
        cmocka_unit_test(a_gate_is_exact),
        cmocka_unit_test(a_norm_is_exact),
    };
    return cmocka_run_group_tests_name("elementwise", tests, make_folder, remove_folder) != 0;
}
