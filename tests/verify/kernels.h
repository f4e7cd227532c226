/* The registry: every kernel that the course defines by name, and how to call it. The tests, the workbench and
 * the benchmark all read this one list. A new kernel is one line here and one golden script. */
#ifndef VERIFY_KERNELS_H
#define VERIFY_KERNELS_H

#include "common/random.h"
#include "tests/verify/sandbox.h"

typedef struct {
    const char *name;    /* the C function; its golden values are tests/golden/NAME.safetensors */
    const char *chapter; /* the folder whose header states its contract */
    Function ours;
    Unpack *unpack;
    /* Fills a call with random arguments: a small shape, or one large enough to time. */
    void (*random_call)(Call *call, Random *random, bool large);
    bool pointwise; /* judged element by element: no sum mixes them */
} Kernel;

extern const Kernel kernels[];
extern const int kernel_count;

const Kernel *kernel_named(const char *name); /* NULL if there is none */

#endif
