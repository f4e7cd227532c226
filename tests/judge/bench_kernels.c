/* build/bench_kernels: verify, but the course's own kernels are the fast ones of 12_speed where
 * there are such. */
#define OURS(kernel) ((kernel)->fast ? (kernel)->fast : (kernel)->ours)
#include "tests/judge/main.c"
