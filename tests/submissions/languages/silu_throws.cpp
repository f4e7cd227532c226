// A vector that is too short, and says so: build/verify tells the exception that nothing catches.
#include <cmath>
#include <vector>

extern "C" void silu(int n, float *out, const float *x) {
    std::vector<float> powers(2);
    for (int i = 0; i < n; i++) {
        powers.at(static_cast<size_t>(i)) = std::exp(-x[i]);
        out[i] = x[i] / (1 + powers[static_cast<size_t>(i)]);
    }
}
