// RMSNorm from C++: a shared library that defines the course's kernel by its C signature.
//
//     g++ -std=c++20 -O3 -shared -fPIC tests/submissions/languages/rms_norm.cpp -o rms_norm.so
//     build/verify rms_norm --library ./rms_norm.so
//
// Formula and shapes: chapters/01_normalization/normalization.h. A C array float x[rows][dim] arrives in every other
// language as a pointer to rows * dim floats, one row after the other. With -DEPSILON_OUTSIDE the kernel is wrong, and
// verify says which mistake that is.
#include <cmath>
#include <cstddef>
#include <span>

// 1 / sqrt(mean(x^2) + eps). The sum is a double: four thousand squares of one size lose digits in a float.
static double inverse_rms(std::span<const float> x, float eps) {
    double squares = 0;
    for (float value : x) squares += double{value} * value;
    double mean = squares / static_cast<double>(x.size());
#ifdef EPSILON_OUTSIDE
    return 1 / (std::sqrt(mean) + eps);
#else
    return 1 / std::sqrt(mean + eps);
#endif
}

// extern "C" keeps the name as it is, which is how verify finds it; noexcept, since no exception may cross into C.
extern "C" void rms_norm(int rows, int dim, float *out, const float *x, const float *weight, float eps) noexcept {
    for (int r = 0; r < rows; r++) {
        const std::size_t begin = static_cast<std::size_t>(r) * dim; // rows * dim may exceed an int
        const double scale = inverse_rms({x + begin, static_cast<std::size_t>(dim)}, eps);
        for (int i = 0; i < dim; i++) out[begin + i] = static_cast<float>(x[begin + i] * scale * weight[i]);
    }
}
