#include "12_speed/climb.h"
#include "12_speed/machine_limits.h"
#include "12_speed/pairs.h"
#include "12_speed/projection.h"
#include "common/check.h"
#include "common/error.h"
#include "common/random.h"
#include "common/timer.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ the rungs */

static Tensor as_tensor(DType dtype, int in, int out, const void *weight) {
    return (Tensor){.dtype = dtype, .rank = 2, .shape = {(size_t)out, (size_t)in}, .data = weight};
}

static void project_f32(int rows, int in, int out, float y[restrict rows][out],
                        const float x[rows][in], const float weight[out][in]) {
    Tensor tensor = as_tensor(F32, in, out, weight);
    fast_linear_tensor(rows, in, out, y, x, &tensor);
}

/* fast_linear_tensor() would choose one of the two by what x holds. */
static void project_bf16(const Method *method, int rows, int in, int out, float y[rows][out],
                         const float x[rows][in], const void *weight) {
    Tensor tensor = as_tensor(BF16, in, out, weight);
    gemv(rows < MR ? 0 : gemm(method, rows, in, out, y, x, &tensor), rows, in, out, y, x, &tensor);
}

static void widened(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                    const float weight[out][in]) {
    project_bf16(gemm_method_for(BF16), rows, in, out, y, x, weight);
}

static void in_pairs(int rows, int in, int out, float y[restrict rows][out],
                     const float x[rows][in], const float weight[out][in]) {
    project_bf16(&bf16_pairs, rows, in, out, y, x, weight);
}

#define SINGLE {1, 1, 2, 1}
#define VECTOR {LANES, 1, 2, 1}
#define FOUR {LANES, 4, 5, 4}
#define TILE {LANES, 2 * MR, MR + 2, 2 * MR}

const Step *matmul_benchmarks(int *count) {
    static const Step steps[] = {
        {"0 triple loop", triple_loop, F32, SINGLE, SINGLE, false, false, false},
        {"1 loop interchange", loop_order, F32, SINGLE, SINGLE, true, false, false},
        {"2 float accumulator", float_sum, F32, SINGLE, SINGLE, true, false, false},
        {"3 omp simd", simd_sum, F32, VECTOR, VECTOR, true, false, false},
        {"4 four accumulators", multiple_accumulators, F32, FOUR, FOUR, true, false, false},
        {"5 register tile", register_tile, F32, FOUR, {LANES, 16, 8, 16}, true, false, false},
        {"6 packing", packed_panels, F32, FOUR, TILE, true, false, false},
        {"7 blocking, prefetch", project_f32, F32, FOUR, TILE, true, false, false},
        {"8 threads", project_f32, F32, FOUR, TILE, true, true, false},
        {"9 BF16 weights", widened, BF16, FOUR, TILE, true, true, false},
        {"10 BF16 dot products", in_pairs, BF16, FOUR, TILE, true, true, true},
    };
    *count = (int)(sizeof steps / sizeof *steps) - !has_bf16_dots();
    return steps;
}

/* ------------------------------------------------------------------ the task */

enum { OUT_ONE = MEASURES ? 12000 : 64, OUT_MANY = MEASURES ? 384 : 64 };

Task task_new(int rows) {
    Random random = {.state = 12};
    int out = rows == 1 ? OUT_ONE : OUT_MANY;
    size_t inputs = (size_t)rows * IN, weights = (size_t)IN * out, outputs = (size_t)rows * out;
    Task t = {.rows = rows,
              .out = out,
              .x = xmalloc(inputs * sizeof(float)),
              .y = xmalloc(outputs * sizeof(float)),
              .right = xmalloc(outputs * sizeof(float)),
              .weight = xmalloc(weights * sizeof(float)),
              .half = xmalloc(weights * sizeof(bf16))};
    for (size_t i = 0; i < inputs; i++)
        t.x[i] = bf16_to_float(bf16_from_float((float)random_uniform(&random) - 0.5F));
    for (size_t i = 0; i < weights; i++)
        t.weight[i] =
            bf16_to_float(t.half[i] = bf16_from_float((float)random_uniform(&random) - 0.5F));
    triple_loop(rows, IN, out, (void *)t.right, (void *)t.x, (void *)t.weight);
    return t;
}

void task_free(Task *task) {
    free(task->x);
    free(task->y);
    free(task->right);
    free(task->weight);
    free(task->half);
}

/* ------------------------------------------------------------------ predicted */

/* The result of a multiply-add is ready after some four cycles, and two can begin in each cycle, so
 * eight accumulators are needed. Two loads can begin in each cycle, too. And memory must keep up.
 */
static double predicted(const Step *step, const Task *task, const Speed *limits) {
    const Loop *loop = task->rows == 1 ? &step->one : &step->many;
    double peak = step->pairs && task->rows > 1 ? limits->pairs : limits->fma,
           lanes = (double)loop->lanes / LANES;
    double waiting = peak * lanes * fmin(1, loop->sums / 8.0);
    double loading = peak * lanes * fmin(1, (double)loop->uses / loop->loads);
    return fmin(fmin(waiting, loading), limits->bandwidth * limits->operations);
}

/* ------------------------------------------------------------------ measured */

static double run(const Step *step, int threads, Task *task) {
    double start = work_seconds(threads);
    step->run(task->rows, IN, task->out, (void *)task->y, (void *)task->x,
              step->dtype == BF16 ? (void *)task->half : task->weight);
    return work_seconds(threads) - start;
}

/* 64 ulps: the roundings of 2048 additions go either way, and even one by one add up to the root of
 * their number. */
static void must_be_right(const Step *step, const Task *task) {
    double truth[task->out];
    for (int r = 0; r < task->rows; r++) {
        for (int o = 0; o < task->out; o++) truth[o] = task->right[r * task->out + o];
        if (check_within(64, (size_t)task->out, (size_t)task->out, task->y + (size_t)r * task->out,
                         truth)
                .wrong)
            fail("%s: row %d of %d is not what rung 0 says", step->name, r, task->rows);
    }
}

Rounds rounds_new(void) { return (Rounds){.start = seconds()}; }

bool rounds_go_on(Rounds *turns) {
    double time = seconds() - turns->start;
    return turns->count++ < 2 || time < 0.05 || (turns->count <= READING_WAYS && time < 0.12);
}

/* A limit's speed in this go, or the best so far. */
static double best(double so_far, double work, int threads, double start) {
    return fmax(so_far, work / (work_seconds(threads) - start));
}

Speed speed_of(const Step *step, Task *task) {
    size_t bytes = (size_t)IN * task->out * dtype_size(step->dtype);
    const void *weights = step->dtype == BF16 ? (void *)task->half : task->weight;
    int threads = step->shared ? thread_count() : 1, most = thread_count();
    Speed s = {.operations = 2.0 * (step->once ? task->rows : 1) / (double)dtype_size(step->dtype)};
    double time = INFINITY;
    use_threads(threads);
    run(step, threads, task);
    must_be_right(step, task);
    for (Rounds turns = rounds_new(); rounds_go_on(&turns);) {
        time = fmin(time, run(step, threads, task));
        double start = work_seconds(threads);
        double done = read_memory(threads, turns.count % READING_WAYS, bytes, weights);
        s.bandwidth = best(s.bandwidth, done, threads, start);
        start = work_seconds(threads);
        s.fma = best(s.fma, multiply_adds(threads), threads, start);
        start = work_seconds(threads);
        if (step->pairs) s.pairs = best(s.pairs, multiply_bf16_pairs(threads), threads, start);
    }
    use_threads(most);
    s.measured = 2.0 * task->rows * IN * task->out / time;
    s.predicted = predicted(step, task, &s);
    return s;
}

double share_of_limit(const Speed *speed, const Task *task, double operations) {
    return task->rows == 1 ? operations / speed->operations / speed->bandwidth
                           : operations / speed->fma;
}
