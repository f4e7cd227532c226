#include "16_backward/backward.h"
#include "05_rope/rope.h"

void rope_interleaved_backward(int T, int H, int D, float dx[restrict T][H][D], const float dout[T][H][D],
                               const float cosine[T][D / 2], const float sine[T][D / 2]) {
    check_pairs(D);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) {
                float a = dout[t][h][2 * i], b = dout[t][h][2 * i + 1];
                dx[t][h][2 * i] += a * cosine[t][i] + b * sine[t][i];
                dx[t][h][2 * i + 1] += b * cosine[t][i] - a * sine[t][i];
            }
}

void rope_half_split_backward(int T, int H, int D, float dx[restrict T][H][D], const float dout[T][H][D],
                              const float cosine[T][D / 2], const float sine[T][D / 2]) {
    check_pairs(D);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) {
                float a = dout[t][h][i], b = dout[t][h][i + D / 2];
                dx[t][h][i] += a * cosine[t][i] + b * sine[t][i];
                dx[t][h][i + D / 2] += b * cosine[t][i] - a * sine[t][i];
            }
}
