/* How fast are several ranks, beside what their machine's memory and MPI's messages let one expect?
 *
 *     mpirun -n 2 build/bench_parallel DIR
 *
 * reads a prompt and writes some tokens with the model in DIR (bench_decoder --write DIR makes
 * one), and prints a line. The latency of a message is half of a ping-pong of 4 bytes, the
 * network's bandwidth that of 4 MB; memory is read by all ranks at once. What is predicted from
 * them is chapter 15's formula. The same model as a pipeline stands beside. */
#include "11_generation/sampling.h"
#include "12_speed/fast_kernels.h"
#include "12_speed/machine_limits.h"
#include "14_engine/formats/model_open_any.h"
#include "15_tensor_parallel/parallel.h"
#include "15_tensor_parallel/ranks.h"
#include "15_tensor_parallel/traffic.h"
#include "common/error.h"
#include "common/options.h"
#include "common/timer.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 512, DECODED = 24, PINGS = 2000, LARGE = 4 << 20, LARGE_PINGS = 40 };

static Ranks ranks;

/* Seconds for one message there, the best of many. */
static double ping_pong(int bytes, int times) {
    char *data = memset(xmalloc((size_t)bytes), 1, (size_t)bytes);
    double best = INFINITY;
    for (int n = 0; n < times && ranks.rank < 2 && ranks.count > 1; n++) {
        double start = seconds();
        for (int turn = 0; turn < 2; turn++)
            if (turn == ranks.rank)
                MPI_Send(data, bytes, MPI_BYTE, 1 - ranks.rank, 2, MPI_COMM_WORLD);
            else
                MPI_Recv(data, bytes, MPI_BYTE, 1 - ranks.rank, 2, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        best = fmin(best, (seconds() - start) / 2);
    }
    free(data);
    if (ranks.count > 1) MPI_Barrier(MPI_COMM_WORLD);
    return best;
}

/* ---------------------------------------------- the same model, cut into tensors or into layers */

/* A rank has some of the layers whole: it takes the stream from the rank before it, and hands it on
 * to the next. */
static void pipeline_forward(Decoder *d, int T, int C, float out[restrict T][C], const int ids[T]) {
    const Model *model = d->model;
    ShardRange own = shard_range(model->config.L, ranks.count, ranks.rank);
    size_t mark = d->arena_used;
    float(*x)[C] = decoder_alloc(d, sizeof(float[T][C])),
    (*delta)[C] = decoder_alloc(d, sizeof(float[T][C]));
    if (ranks.rank > 0)
        MPI_Recv(x, T * C, MPI_FLOAT, ranks.rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        for (int t = 0; t < T; t++)
            tensor_dequantize_row(&model->embed_tokens, (size_t)ids[t] * C, (size_t)C, x[t]);
    for (int l = own.first; l < own.first + own.count; l++) {
        attention_block(d, l, T, C, delta, x);
        for (int i = 0; i < T * C; i++) x[0][i] += delta[0][i];
        feed_forward_block(d, l, T, C, delta, x);
        for (int i = 0; i < T * C; i++) x[0][i] += delta[0][i];
    }
    if (ranks.rank + 1 < ranks.count)
        MPI_Send(x, T * C, MPI_FLOAT, ranks.rank + 1, 3, MPI_COMM_WORLD);
    /* Which counts on the last rank alone. */
    d->kernels->rms_norm(T, C, out, x, model->norm, (float)model->config.rms_norm_eps);
    d->arena_used = mark;
}

/* The next token, for all. */
typedef int Next(const Decoder *decoder);

static int next_of_tensors(const Decoder *d) {
    int id = parallel_argmax((const Shard *)(const void *)d->model, d->kernels, d->model->config.C,
                             d->last_hidden);
    broadcast_bytes(sizeof id, &id);
    return id;
}

static int next_of_pipeline(const Decoder *d) {
    int V = d->model->config.V, last = ranks.count - 1, id = 0;
    float *logits = xmalloc((size_t)V * sizeof *logits);
    if (ranks.rank == last) {
        decoder_logits(d, logits);
        id = argmax(V, logits);
    }
    MPI_Bcast(&id, 1, MPI_INT, last, MPI_COMM_WORLD);
    free(logits);
    return id;
}

typedef struct {
    double prefill, decode;
} Seconds; /* of the whole prompt, and of one token */

static Seconds measure(Decoder *decoder, Next *next) {
    int ids[PROMPT], id;
    for (int t = 0; t < PROMPT; t++) ids[t] = (t * 7919 + 1) % decoder->model->config.V;
    decoder_eval(decoder, 64, ids); /* the weights come from the page cache, and are touched */
    decoder->length = 0;
    next(decoder);
    double start = seconds();
    decoder_eval(decoder, PROMPT, ids);
    next(decoder);
    double prefill = seconds() - start;
    decoder->length = 64;
    start = seconds();
    for (int n = 0; n < DECODED; n++) {
        id = next(decoder);
        decoder_eval(decoder, 1, &id);
    }
    return (Seconds){prefill, (seconds() - start) / DECODED};
}

static Seconds measure_pipeline(const char *path) {
    Model model = model_open_any(path);
    Decoder decoder = decoder_new(&model, &fast_kernels, PROMPT + DECODED);
    decoder.forward = pipeline_forward;
    Seconds taken = measure(&decoder, next_of_pipeline);
    decoder_free(&decoder);
    model_close(&model);
    return taken;
}

int main(int argc, char **argv) {
    ranks = ranks_open();
    ranks_ordered_begin();
    int rest =
        parse_options(argc, argv, "DIR",
                      "Several ranks beside what memory and messages let one expect.", 0, NULL);
    if (rest + 1 != argc) usage_error("name the folder of a model");
    Shard shard = shard_open(argv[rest], ranks.count, ranks.rank);
    ranks_ordered_end();
    shard_load(&shard);
    const Config *c = &shard.whole.config;
    Decoder decoder = parallel_decoder(&shard, &fast_kernels, PROMPT + DECODED);
    Seconds tensors = measure(&decoder, next_of_tensors);
    double memory = peak_memory(), all[ranks.count];

    double latency = ping_pong(4, PINGS), large = ping_pong(LARGE, LARGE_PINGS);
    double reading = read_bandwidth(thread_count(), SOME_MEMORY);
    gather_ranks(sizeof memory, &memory, all);
    Machine machine = {reading, LARGE / large, latency};
    double bytes = (double)shard_bytes(&shard) - (double)tensor_bytes(&shard.model.embed_tokens);
    double predicted = token_seconds(c, bytes * ranks.count, ranks.count, machine);
    for (int r = 1; r < ranks.count; r++) memory = fmax(memory, all[r]);
    if (ranks.rank == 0)
        printf("%d rank%s of %d thread%s: decode %.1f tokens/s, predicted %.1f; prefill %d: %.0f "
               "tokens/s; reads %.1f GB/s each; a message %.1f us, %.1f GB/s; %.0f MB a rank at "
               "most, of them %.0f of matrices\n",
               ranks.count, ranks.count == 1 ? "" : "s", thread_count(),
               thread_count() == 1 ? "" : "s", 1 / tensors.decode, 1 / predicted, PROMPT,
               PROMPT / tensors.prefill, reading / 1e9, ranks.count > 1 ? 1e6 * latency : 0,
               ranks.count > 1 ? LARGE / large / 1e9 : 0, memory / 1e6,
               (double)shard_bytes(&shard) / 1e6);
    decoder_free(&decoder);
    shard_close(&shard);
    /* In a pipeline one reads at a time. */
    if (ranks.rank == 0) machine.memory = read_bandwidth(thread_count(), SOME_MEMORY);
    Seconds layers = ranks.count > 1 ? measure_pipeline(argv[rest]) : tensors;
    if (ranks.rank == 0 && ranks.count > 1)
        printf("%d ranks as a pipeline: decode %.1f tokens/s, predicted %.1f; prefill %d: %.0f "
               "tokens/s\n",
               ranks.count, 1 / layers.decode,
               1 / pipeline_seconds(c, bytes * ranks.count, ranks.count, machine), PROMPT,
               PROMPT / layers.prefill);
    ranks_close();
    return 0;
}
