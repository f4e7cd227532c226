#include "15_tensor_parallel/ranks.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

#ifdef WITH_MPI

#include "15_tensor_parallel/shard.h"
#include "common/output.h"
#include "common/timer.h"

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static Ranks ranks = {1, 0, 1};
static float *room; /* what the other ranks have of this rank's slice */
static size_t room_size;

/* ------------------------------------------------------------------ how it ends
 *
 * mpirun ends all ranks when one ends badly, but says so in a page of its own. Each rank knows the
 * others of its machine by their process numbers: so the one that fails tells them to end quietly,
 * and when one has died, another says which. */

static pid_t *processes;      /* [here] of this machine, in the order of the ranks */
static int *numbers;          /* [here]: which ranks they are */
static char (*farewells)[64]; /* [here]: what is said of one that has died; a signal's handler can
                                 make no text */
static bool closed;

static void say(const char *words) {
    if (write(STDERR_FILENO, words, strlen(words)) < 0) _exit(1);
}

static void end_quietly(int signal) {
    (void)signal;
    output_abandon();
    _exit(1);
}

/* mpirun wants an end: a rank has died, or somebody has pressed Ctrl-C. Or a rank has failed and
 * said so: then another thread of this one, for MPI has some, has been told to end quietly, and
 * must have the time for it. All wait a little before they go, so that nobody takes another one's
 * farewell for a death. */
static void end_loudly(int signal) {
    int dead = -1, lowest = -1;
    (void)signal;
    usleep(100000);
    for (int i = ranks.here - 1; i >= 0; i--)
        if (kill(processes[i], 0) == 0) lowest = i;
        else dead = i;
    if (dead >= 0 && numbers[lowest] == ranks.rank) say(farewells[dead]);
    if (dead < 0 && ranks.rank == 0)
        say("error: rank 0: told to end: by Ctrl-C, or a rank on another machine has died\n");
    output_abandon();
    usleep(300000);
    _exit(1);
}

/* At exit(), which fail() calls. What there was to say has been said: mpirun's own wish for an end
 * comes later. But who was asked for --help, in its turn, ends well, and the next one is asked for
 * it, too. */
static void end_the_others(void) {
    if (closed) return;
    if (!has_printed_error()) {
        ranks_ordered_end();
        MPI_Finalize();
        return;
    }
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < ranks.here; i++)
        if (processes && numbers[i] != ranks.rank) kill(processes[i], SIGUSR1);
}

/* Counts the ranks on this machine. */
static void find_local_ranks(void) {
    MPI_Comm machine;
    pid_t own = getpid();
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ranks.rank, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &ranks.here);
    processes = xmalloc((size_t)ranks.here * sizeof *processes);
    numbers = xmalloc((size_t)ranks.here * sizeof *numbers);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, processes, sizeof own, MPI_BYTE, machine);
    MPI_Allgather(&ranks.rank, 1, MPI_INT, numbers, 1, MPI_INT, machine);
    MPI_Comm_free(&machine);
    farewells = xmalloc((size_t)ranks.here * sizeof *farewells);
    for (int i = 0; i < ranks.here; i++)
        snprintf(farewells[i], sizeof *farewells,
                 "error: rank %d: it has died: killed, or crashed\n", numbers[i]);
}

static void handle(int signal, void handler(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

/* Threads of a rank that nobody has counted would be as many as the machine has cores, on each
 * rank. */
static void share_cores(void) {
    if (getenv("OMP_NUM_THREADS")) return;
    int threads = thread_count() / ranks.here;
    use_threads(threads > 1 ? threads : 1);
}

Ranks ranks_open(void) {
    char name[32];
    if (!getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMI_SIZE")) return ranks;
    signal(SIGXFSZ, SIG_IGN); /* where a file may not grow, MPI does without it */
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    snprintf(name, sizeof name, "rank %d", ranks.rank);
    set_error_prefix(name);
    handle(SIGUSR1, end_quietly); /* before the others know this rank: one that fails at once may
                                     tell it to end */
    find_local_ranks();
    handle(SIGTERM, end_loudly);
    handle(SIGINT, end_loudly);
    atexit(end_the_others);
    if (ranks.rank > 0 && !freopen("/dev/null", "w", stdout))
        fail("cannot open /dev/null"); /* rank 0 speaks for all */
    share_cores();
    return ranks;
}

void ranks_close(void) {
    if (processes) MPI_Finalize();
    closed = true;
    free(processes);
    free(numbers);
    free(farewells);
    free(room);
}

/* ------------------------------------------------------------------ messages
 *
 * From one rank to another they keep their order: a sum that comes early is not taken for a slice.
 */

typedef struct {
    int count;
    MPI_Request *requests;
} Requests; /* messages that are on their way */

static Requests some_messages(int most) {
    return (Requests){0, xmalloc((size_t)most * sizeof(MPI_Request))};
}

static int whole(size_t count) {
    if (count > INT_MAX) fail("a message of %zu numbers is longer than MPI takes", count);
    return (int)count;
}

static void send(Requests *u, int to, size_t count, MPI_Datatype type, const void *data) {
    MPI_Isend(data, whole(count), type, to, 0, MPI_COMM_WORLD, &u->requests[u->count++]);
}

static void receive(Requests *u, int from, size_t count, MPI_Datatype type, void *data) {
    MPI_Irecv(data, whole(count), type, from, 0, MPI_COMM_WORLD, &u->requests[u->count++]);
}

static void wait_all(Requests *u) {
    if (u->count) MPI_Waitall(u->count, u->requests, MPI_STATUSES_IGNORE);
    u->count = 0;
}

static void end_messages(Requests *u) {
    wait_all(u);
    free(u->requests);
}

/* ------------------------------------------------------------------ all-reduce */

/* The slice of x that rank r adds up for all ranks. */
static ShardRange slice(size_t n, int r) { return shard_range(whole(n), ranks.count, r); }

/* Memory for every rank's copy of one slice of n numbers. */
static float *slices_of_all(size_t n) {
    size_t needed = n * (size_t)ranks.count;
    if (needed > room_size) room = xrealloc(room, (room_size = needed) * sizeof *room);
    return room;
}

void all_reduce_sum(size_t n, float x[n]) {
    if (ranks.count == 1) return;
    MPI_Request *requests = xmalloc(2 * (size_t)ranks.count * sizeof *requests);
    ShardRange own = slice(n, ranks.rank);
    size_t width = (size_t)own.count;
    float *mine = x + own.first, *slices = slices_of_all(width);
    int count = 0;

    /* Reduce-scatter: each rank receives its own slice from every other rank, and adds. */
    for (int r = 0; r < ranks.count; r++) {
        if (r == ranks.rank) continue;
        ShardRange theirs = slice(n, r);
        MPI_Irecv(slices + (size_t)r * width, own.count, MPI_FLOAT, r, 0, MPI_COMM_WORLD,
                  &requests[count++]);
        MPI_Isend(x + theirs.first, theirs.count, MPI_FLOAT, r, 0, MPI_COMM_WORLD,
                  &requests[count++]);
    }
    memcpy(slices + (size_t)ranks.rank * width, mine, width * sizeof *mine);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    memcpy(mine, slices, width * sizeof *mine);
    for (int r = 1; r < ranks.count; r++)
        for (size_t i = 0; i < width; i++) mine[i] += slices[(size_t)r * width + i];

    /* All-gather: each rank sends the sum of its slice to all others. */
    count = 0;
    for (int r = 0; r < ranks.count; r++) {
        if (r == ranks.rank) continue;
        ShardRange theirs = slice(n, r);
        MPI_Irecv(x + theirs.first, theirs.count, MPI_FLOAT, r, 0, MPI_COMM_WORLD,
                  &requests[count++]);
        MPI_Isend(mine, own.count, MPI_FLOAT, r, 0, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

/* ------------------------------------------------------------------ to rank 0 and from it */

/* Rank r has bytes[r]. */
static void gather(const size_t bytes[], const void *own, char *all) {
    Requests messages = some_messages(ranks.count);
    if (ranks.rank > 0) send(&messages, 0, bytes[ranks.rank], MPI_BYTE, own);
    else {
        memcpy(all, own, bytes[0]);
        all += bytes[0];
    }
    for (int r = 1; ranks.rank == 0 && r < ranks.count; all += bytes[r++])
        receive(&messages, r, bytes[r], MPI_BYTE, all);
    end_messages(&messages);
}

void gather_ranks(size_t bytes, const void *own, void *all) {
    size_t of[ranks.count];
    for (int r = 0; r < ranks.count; r++) of[r] = bytes;
    gather(of, own, all);
}

void gather_floats(const int n[], const float own[], float all[]) {
    size_t of[ranks.count];
    for (int r = 0; r < ranks.count; r++) of[r] = (size_t)n[r] * sizeof *own;
    gather(of, own, (char *)all);
}

void broadcast_bytes(size_t bytes, void *data) {
    Requests messages = some_messages(ranks.count);
    if (ranks.rank > 0) receive(&messages, 0, bytes, MPI_BYTE, data);
    for (int r = 1; ranks.rank == 0 && r < ranks.count; r++)
        send(&messages, r, bytes, MPI_BYTE, data);
    end_messages(&messages);
}

void ranks_ordered_begin(void) {
    if (ranks.rank > 0)
        MPI_Recv(NULL, 0, MPI_BYTE, ranks.rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void ranks_ordered_end(void) {
    if (ranks.rank + 1 < ranks.count)
        MPI_Send(NULL, 0, MPI_BYTE, ranks.rank + 1, 1, MPI_COMM_WORLD);
}

/* ------------------------------------------------------------------ how much is sent
 *
 * MPI_Isend is a weak symbol in every MPI library, and PMPI_Isend is the same function. A program
 * that defines MPI_Isend stands between its own calls and the library: this is how profilers count
 * messages. */

static Sent sent;

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm ranks,
              MPI_Request *request) {
    int size;
    PMPI_Type_size(type, &size);
    sent.messages++;
    sent.bytes += (int64_t)count * size;
    return PMPI_Isend(data, count, type, to, tag, ranks, request);
}

Sent sent_so_far(void) { return sent; }

#else /* without MPI: one rank, which does all the work */

Ranks ranks_open(void) {
    if (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE"))
        fail("this program was built without MPI: apt install libopenmpi-dev openmpi-bin, and make "
             "again");
    return (Ranks){1, 0, 1};
}

void ranks_close(void) {}
void ranks_ordered_begin(void) {}
void ranks_ordered_end(void) {}
void all_reduce_sum(size_t n, float x[n]) { (void)x; }
void gather_ranks(size_t bytes, const void *own, void *all) { memcpy(all, own, bytes); }
void gather_floats(const int n[], const float own[], float all[]) {
    memcpy(all, own, (size_t)n[0] * sizeof *all);
}
void broadcast_bytes(size_t bytes, void *data) { (void)bytes, (void)data; }
Sent sent_so_far(void) { return (Sent){0}; }

#endif
