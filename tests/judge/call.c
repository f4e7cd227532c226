#include "tests/judge/call.h"
#include "common/error.h"

#include <string.h>
#include <sys/mman.h>

static char *shared; /* the memory, and how much of it is in use */
static size_t in_use;

void call_share(void) {
    if (shared) return;
    shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED) fail("no memory to share with the processes that kernels run in");
}

static void *take(size_t bytes) {
    call_share();
    size_t whole = (bytes + 63) / 64 * 64; /* so that the next one is aligned, too */
    if (whole > SHARED_BYTES - in_use)
        fail("a call of a kernel needs over %zu bytes", SHARED_BYTES);
    in_use += whole;
    return shared + in_use - whole;
}

void *call_room(Call *call, size_t bytes) {
    if (call->input_count == 0 && !call->output.data) call->begins = in_use;
    return take(bytes);
}

/* The name is copied: it may lie in memory that the other processes do not have. */
static Tensor tensor_in(Call *call, const char *name, DType dtype, int rank, const size_t shape[]) {
    char *copy = call_room(call, strlen(name) + 1);
    Tensor tensor = {.name = strcpy(copy, name), .dtype = dtype, .rank = rank};
    if (rank) memcpy(tensor.shape, shape, (size_t)rank * sizeof *shape);
    tensor.data = take(tensor_bytes(&tensor));
    return tensor;
}

void *call_input(Call *call, const char *name, DType dtype, int rank, const size_t shape[]) {
    if (call->input_count == CALL_MAX_INPUTS) fail("a kernel with over %d inputs", CALL_MAX_INPUTS);
    Tensor input = tensor_in(call, name, dtype, rank, shape);
    call->input[call->input_count++] = input;
    return (void *)input.data;
}

void call_output(Call *call, DType dtype, int rank, const size_t shape[]) {
    call->output = tensor_in(call, "out", dtype, rank, shape);
}

void call_free(Call *call) {
    memset(shared + call->begins, 0,
           in_use - call->begins); /* nobody finds there what was right the time before */
    in_use = call->begins;
    *call = (Call){0};
}

/* ------------------------------------------------------------------ arguments by name */

const Tensor *input_named(const Call *call, const char *name) {
    for (int i = 0; i < call->input_count; i++)
        if (strcmp(call->input[i].name, name) == 0) return &call->input[i];
    return NULL;
}

static const Tensor *need(const Call *call, const char *name) {
    const Tensor *tensor = input_named(call, name);
    if (!tensor) fail("a golden case has no input \"%s\"", name);
    return tensor;
}

const void *argument(const Call *call, const char *name) {
    const Tensor *tensor = input_named(call, name);
    return tensor ? tensor->data : NULL;
}

float scalar(const Call *call, const char *name) { return (float)tensor_get(need(call, name), 0); }
int whole_number(const Call *call, const char *name) {
    return (int)tensor_get(need(call, name), 0);
}
int dimension(const Call *call, const char *name, int axis) {
    return (int)need(call, name)->shape[axis];
}
void *output(const Call *call) { return (void *)call->output.data; }
