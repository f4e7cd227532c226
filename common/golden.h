/* The golden values: what PyTorch computed, as tests/golden/README.md describes the files.
 * One file a kernel, many cases a file; each case has its inputs, PyTorch's answers and the outputs
 * of known mistakes. */
#ifndef COMMON_GOLDEN_H
#define COMMON_GOLDEN_H

#include "common/check.h"
#include "common/safetensors.h"

enum { GOLDEN_MAX = 80 }; /* inputs of a case, and known mistakes of a case */

typedef struct {
    const char *name;
    const char *sentence; /* what the case tries */
    int input_count, known_mistake_count;
    Tensor input[GOLDEN_MAX];         /* named as the kernel's parameters are: "x", "weight", … */
    Tensor known_mistake[GOLDEN_MAX]; /* named as the mistake: "epsilon_outside", … */
    Tensor expected;                  /* PyTorch's answer, F32 or BF16 */
    Tensor expected64; /* the same graph in float64; where it is exact, that answer again */
    /* F32, or F64 of a random call: how far float32 may be from expected64, whatever the order of
     * its sums: a number for each row. Without a name where nothing is summed. */
    Tensor rounding;
    bool exact; /* one answer alone is right, to the bit */
} GoldenCase;

typedef struct {
    const char *kernel;
    int count;
    GoldenCase *cases;
    SafeTensors file;
} Golden;

/* Where the files are: ROOT/tests/golden, unless a program has them elsewhere. */
extern const char *golden_folder;

/* Opens KERNEL.safetensors there, or fail(). */
Golden golden_open(const char *kernel);
void golden_close(Golden *golden);

const GoldenCase *golden_case(const Golden *golden, const char *name); /* or fail() */
const Tensor *golden_input(const GoldenCase *golden_case,
                           const char *name); /* NULL if there is none */
const char *golden_advice(const Golden *golden, const char *known_mistake); /* one sentence */

/* The number of elements that are judged together: the last axis of the output, or 1 for
 * pointwise kernels. */
size_t golden_row(const GoldenCase *golden_case, bool pointwise);

/* How many ulps a number of the case may be off by, whatever is summed; `reference` is PyTorch's
 * own worst error. */
double golden_tolerance(const GoldenCase *golden_case, double reference);

/* How far number `index` may be off because float32 rounds; 0 where that is not known. */
double golden_rounding(const GoldenCase *golden_case, size_t index);

/* Compares `got`, which has the shape of the case's expected output. Each number may be off by the
 * tolerance of check(), or by its rounding where that is more. A pointwise kernel is judged element
 * by element, any other row by row (the last axis). */
Comparison golden_check(const GoldenCase *golden_case, bool pointwise, const Tensor *got);

#endif
