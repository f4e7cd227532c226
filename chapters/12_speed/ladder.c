#include "12_speed/ladder.h"
#include "12_speed/vector.h"

void triple_loop(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                 const float weight[out][in]) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double sum = 0;
            for (int i = 0; i < in; i++) sum += (double)x[r][i] * weight[o][i];
            y[r][o] = (float)sum;
        }
}

void loop_order(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                const float weight[out][in]) {
    for (int o = 0; o < out; o++)
        for (int r = 0; r < rows; r++) {
            double sum = 0;
            for (int i = 0; i < in; i++) sum += (double)x[r][i] * weight[o][i];
            y[r][o] = (float)sum;
        }
}

void float_sum(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
               const float weight[out][in]) {
    for (int o = 0; o < out; o++)
        for (int r = 0; r < rows; r++) {
            float sum = 0;
            for (int i = 0; i < in; i++) sum += x[r][i] * weight[o][i];
            y[r][o] = sum;
        }
}

/* The pragma allows what the language does not: to add in another order, and so to fill all lanes
 * of a register. */
static float dot(int n, const float a[n], const float b[n]) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

void simd_sum(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
              const float weight[out][in]) {
    for (int o = 0; o < out; o++)
        for (int r = 0; r < rows; r++) y[r][o] = dot(in, x[r], weight[o]);
}

/* Four outputs of one row at a time; the last few outputs one by one. */
void multiple_accumulators(int rows, int in, int out, float y[restrict rows][out],
                           const float x[rows][in], const float weight[out][in]) {
    int o = 0;
    for (; o + 4 <= out; o += 4)
        for (int r = 0; r < rows; r++) {
            float a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
            for (int i = 0; i < in; i++) {
                a += x[r][i] * weight[o][i];
                b += x[r][i] * weight[o + 1][i];
                c += x[r][i] * weight[o + 2][i];
                d += x[r][i] * weight[o + 3][i];
            }
            y[r][o] = a;
            y[r][o + 1] = b;
            y[r][o + 2] = c;
            y[r][o + 3] = d;
        }
    for (; o < out; o++)
        for (int r = 0; r < rows; r++) y[r][o] = dot(in, x[r], weight[o]);
}

/* sum[r][o] = the part of the sum that i < count contributes, count a multiple of LANES. */
static void four_by_four(int count, int in, float sum[4][4], const float x[4][in],
                         const float weight[4][in]) {
    Vector total[4][4] = {0};
    for (int i = 0; i < count; i += LANES) UNROLLED
    for (int r = 0; r < 4; r++) UNROLLED
    for (int o = 0; o < 4; o++)
        total[r][o] += *(const Vector *)&x[r][i] * *(const Vector *)&weight[o][i];
    for (int r = 0; r < 4; r++)
        for (int o = 0; o < 4; o++) {
            sum[r][o] = 0;
            for (int l = 0; l < LANES; l++) sum[r][o] += total[r][o][l];
        }
}

/* Sixteen sums of four rows of x and four of the weight. What no tile covers is done as before. */
void register_tile(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                   const float weight[out][in]) {
    int whole = in / LANES * LANES, r4 = rows / 4 * 4, o4 = out / 4 * 4;
    for (int o = 0; o < o4; o += 4)
        for (int r = 0; r < r4; r += 4) {
            float sum[4][4];
            four_by_four(whole, in, sum, x + r, weight + o);
            for (int k = 0; k < 16; k++) {
                for (int i = whole; i < in; i++)
                    sum[k / 4][k % 4] += x[r + k / 4][i] * weight[o + k % 4][i];
                y[r + k / 4][o + k % 4] = sum[k / 4][k % 4];
            }
        }
    multiple_accumulators(rows - r4, in, out, y + r4, x + r4, weight);
    for (int o = o4; o < out; o++)
        for (int r = 0; r < r4; r++) y[r][o] = dot(in, x[r], weight[o]);
}

enum { HEIGHT = REGISTERS * 3 / 8, WIDTH = 2 * LANES, DEPTH = 256 };

/* panel[i][o] = weight[o][i]: the numbers that one step of the sums needs become neighbours. */
static void pack(int count, int in, float panel[DEPTH][WIDTH], const float weight[WIDTH][in]) {
    for (int i = 0; i < count; i++)
        for (int o = 0; o < WIDTH; o++) panel[i][o] = weight[o][i];
}

/* y[r][o] += sum over i < count of x[r][i] panel[i][o]. The lanes are outputs, so nothing is added
 * across lanes. */
INLINE void add_tile(int rows, int count, int in, int out, float y[rows][out],
                     const float x[rows][in], const float panel[DEPTH][WIDTH]) {
    Vector sum[HEIGHT][2];
    UNROLLED
    for (int r = 0; r < rows; r++) {
        sum[r][0] = *(Vector *)y[r];
        sum[r][1] = *(Vector *)&y[r][LANES];
    }
    for (int i = 0; i < count; i++) {
        Vector first = *(const Vector *)panel[i], second = *(const Vector *)&panel[i][LANES];
        UNROLLED
        for (int r = 0; r < rows; r++) {
            sum[r][0] += x[r][i] * first;
            sum[r][1] += x[r][i] * second;
        }
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        *(Vector *)y[r] = sum[r][0];
        *(Vector *)&y[r][LANES] = sum[r][1];
    }
}

/* A panel is packed once and meets all rows of x. The last outputs, and few rows, are done as
 * before. */
void packed_panels(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                   const float weight[out][in]) {
    int outs = rows < HEIGHT ? 0 : out / WIDTH * WIDTH;
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < outs; o++) y[r][o] = 0;
    for (int o = 0; o < outs; o += WIDTH)
        for (int i = 0; i < in; i += DEPTH) {
            int r = 0, count = in - i < DEPTH ? in - i : DEPTH;
            float panel[DEPTH][WIDTH];
            pack(count, in, panel, (const void *)&weight[o][i]);
            for (; r + HEIGHT <= rows; r += HEIGHT)
                add_tile(HEIGHT, count, in, out, (void *)&y[r][o], (const void *)&x[r][i], panel);
            for (; r < rows; r++)
                add_tile(1, count, in, out, (void *)&y[r][o], (const void *)&x[r][i], panel);
        }
    if (outs == 0) multiple_accumulators(rows, in, out, y, x, weight);
    for (int o = outs; o < out && outs > 0; o++)
        for (int r = 0; r < rows; r++) y[r][o] = dot(in, x[r], weight[o]);
}
