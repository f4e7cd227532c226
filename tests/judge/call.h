/* One call of a kernel, as data: its arguments by name and its output. They lie in memory that this
 * process shares with those it starts, for a kernel that somebody wrote tonight is never called
 * here, but over there (sandbox.h). */
#ifndef VERIFY_CALL_H
#define VERIFY_CALL_H

#include "common/tensor.h"

enum { CALL_MAX_INPUTS = 24 };

typedef struct {
    int input_count;
    Tensor input[CALL_MAX_INPUTS];
    Tensor output;
    size_t begins; /* where its part of the shared memory does */
} Call;

/* All that calls may need at a time. Memory that nobody touches costs nothing. */
#define SHARED_BYTES ((size_t)(sizeof(void *) > 4 ? 2048 : 512) << 20)

/* Makes the memory, if it is not there yet: a process that is started now will have it. */
void call_share(void);

/* Add an argument; its data is to be filled. */
void *call_input(Call *call, const char *name, DType dtype, int rank, const size_t shape[]);
void call_output(Call *call, DType dtype, int rank, const size_t shape[]);

/* Room in the call's part of the shared memory, all zeros. */
void *call_room(Call *call, size_t bytes);

/* Gives the call's part back, cleared. The last one made goes first. */
void call_free(Call *call);

/* For the functions that unpack a call: an argument (NULL if it was left out), its data, a scalar,
 * a dimension. */
const Tensor *input_named(const Call *call, const char *name);
const void *argument(const Call *call, const char *name);
float scalar(const Call *call, const char *name);
int whole_number(const Call *call, const char *name);
int dimension(const Call *call, const char *name, int axis);
void *output(const Call *call);

#endif
