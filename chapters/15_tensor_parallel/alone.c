/* Where there is no MPI: the one rank, which is all of them. */
#include "15_tensor_parallel/ranks.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

Ranks ranks_open(void) {
    if (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE"))
        fail("this program was built without MPI: apt install libopenmpi-dev openmpi-bin, and make again");
    return (Ranks){1, 0, 1};
}

void ranks_close(void) {}
void turn_begin(void) {}
void turn_end(void) {}
void sum_over_ranks(size_t n, float x[n]) { (void)x; }
void gather_ranks(size_t bytes, const void *own, void *all) { memcpy(all, own, bytes); }
void gather_floats(const int n[], const float own[], float all[]) { memcpy(all, own, (size_t)n[0] * sizeof *all); }
void broadcast_bytes(size_t bytes, void *data) { (void)bytes, (void)data; }
Sent sent_so_far(void) { return (Sent){0}; }
