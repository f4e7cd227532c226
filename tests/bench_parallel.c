/* How fast are several ranks, beside what their machine's memory and MPI's messages let one expect?
 *
 *     mpirun -n 2 build/bench_parallel DIR
 *
 * reads a prompt and writes some tokens with the model in DIR (bench_decoder --write DIR makes one), and prints a line. The
 * latency of a message is half of a ping-pong of 4 bytes, the network's bandwidth that of 4 MB; memory is read by all ranks
 * at once. What is predicted from them is chapter 14's formula. */
#include "14_tensor_parallel/parallel.h"
#include "14_tensor_parallel/ranks.h"
#include "14_tensor_parallel/traffic.h"
#include "common/error.h"
#include "common/measure.h"
#include "common/options.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 512, DECODED = 24, PINGS = 2000, LARGE = 4 << 20, LARGE_PINGS = 40 };

/* Seconds for one message there, the best of many. */
static double ping_pong(Ranks ranks, int bytes, int times) {
    char *data = memset(allocate((size_t)bytes), 1, (size_t)bytes);
    double best = INFINITY;
    for (int n = 0; n < times && ranks.rank < 2 && ranks.count > 1; n++) {
        double start = seconds();
        for (int turn = 0; turn < 2; turn++)
            if (turn == ranks.rank) MPI_Send(data, bytes, MPI_BYTE, 1 - ranks.rank, 2, MPI_COMM_WORLD);
            else MPI_Recv(data, bytes, MPI_BYTE, 1 - ranks.rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        best = fmin(best, (seconds() - start) / 2);
    }
    free(data);
    if (ranks.count > 1) MPI_Barrier(MPI_COMM_WORLD);
    return best;
}

static double most_memory(void) {
    double kilobytes = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %lf", &kilobytes);
    if (file) fclose(file);
    return 1024 * kilobytes;
}

int main(int argc, char **argv) {
    Ranks ranks = ranks_open();
    turn_begin();
    int rest = parse_options(argc, argv, "DIR", "Several ranks beside what memory and messages let one expect.", 0, NULL);
    if (rest + 1 != argc) usage_error("name the folder of a model");
    Shard shard = shard_open(argv[rest], ranks.count, ranks.rank);
    turn_end();
    shard_load(&shard);
    const Config *c = &shard.whole.config;
    Decoder decoder = parallel_decoder(&shard, PROMPT + DECODED);
    int ids[PROMPT], id;
    for (int t = 0; t < PROMPT; t++) ids[t] = (t * 7919 + 1) % c->V;

    decoder_read(&decoder, 64, ids); /* the weights come from the page cache, and are touched */
    decoder.length = 0;
    broadcast_bytes(sizeof id, &id);
    double start = seconds();
    decoder_read(&decoder, PROMPT, ids);
    double prefill = seconds() - start;
    decoder.length = 64;
    start = seconds();
    for (int n = 0; n < DECODED; n++) {
        id = parallel_greedy(&shard, c->C, decoder.last);
        broadcast_bytes(sizeof id, &id);
        decoder_read(&decoder, 1, &id);
    }
    double decode = (seconds() - start) / DECODED, memory = most_memory(), all[ranks.count];

    double latency = ping_pong(ranks, 4, PINGS), large = ping_pong(ranks, LARGE, LARGE_PINGS);
    double reading = read_bandwidth(thread_count(), SOME_MEMORY) ;
    gather_ranks(sizeof memory, &memory, all);
    Machine machine = {reading, LARGE / large, latency};
    double bytes = (double)shard_bytes(&shard) - (double)tensor_bytes(&shard.model.embed_tokens);
    double predicted = token_seconds(c, bytes * ranks.count, ranks.count, machine);
    for (int r = 1; r < ranks.count; r++) memory = fmax(memory, all[r]);
    if (ranks.rank == 0)
        printf("%d rank%s of %d thread%s: decode %.1f tokens/s, predicted %.1f; prefill %d: %.0f tokens/s; reads %.1f GB/s each; "
               "a message %.1f us, %.1f GB/s; %.0f MB a rank at most, of them %.0f of matrices\n",
               ranks.count, ranks.count == 1 ? "" : "s", thread_count(), thread_count() == 1 ? "" : "s", 1 / decode, 1 / predicted,
               PROMPT, PROMPT / prefill, reading / 1e9, ranks.count > 1 ? 1e6 * latency : 0, ranks.count > 1 ? LARGE / large / 1e9 : 0,
               memory / 1e6, (double)shard_bytes(&shard) / 1e6);
    decoder_free(&decoder), shard_close(&shard);
    ranks_close();
    return 0;
}
