#include "15_tensor_parallel/traffic.h"

Traffic traffic_of_token(const Config *c, int ranks) {
    double sums = 2.0 * c->L + 1, others = ranks - 1, best = sizeof(float) + sizeof(int),
           chosen = sizeof(int);
    return (Traffic){.messages = sums * 2 * ranks * others + 2 * others,
                     .bytes = sums * 2 * others * c->C * sizeof(float) + others * (best + chosen)};
}

double sums_seconds(const Config *c, int T, int ranks, Machine m) {
    double row = (double)c->C * sizeof(float), share = (ranks - 1.0) / ranks;
    return ranks == 1 ? 0 : (2.0 * c->L + 1) * 2 * (m.latency + share * T * row / m.network);
}

double token_seconds(const Config *c, double weight_bytes, int ranks, Machine m) {
    return weight_bytes / ranks / m.memory + sums_seconds(c, 1, ranks, m);
}

double pipeline_seconds(const Config *c, double weight_bytes, int ranks, Machine m) {
    double row = (double)c->C * sizeof(float);
    return weight_bytes / m.memory + (ranks - 1) * (m.latency + row / m.network);
}
