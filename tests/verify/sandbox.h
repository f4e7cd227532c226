/* A kernel that somebody wrote tonight may write past its arrays, loop for ever or crash. It is run in a process
 * of its own, on buffers that stand between forbidden pages, and what it did is said in words.
 *
 *   | forbidden | canary page | data … canary | forbidden |
 *
 * The output is poisoned before the call, so that what was never written is known; the inputs are read-only. */
#ifndef VERIFY_SANDBOX_H
#define VERIFY_SANDBOX_H

#include "common/tensor.h"

typedef struct {
    Tensor tensor; /* its data starts a page: aligned for every vector */
    char *pages;
    size_t page_bytes; /* with the forbidden pages at both ends */
} Buffer;

enum { CALL_MAX_INPUTS = 24 };

/* One call of a kernel: its arguments by name. */
typedef struct {
    int input_count;
    Buffer input[CALL_MAX_INPUTS];
    Buffer output;
} Call;

/* Add an argument; the tensor's name must outlive the call. */
void *call_input(Call *call, const char *name, DType dtype, int rank, const size_t shape[]); /* to be filled */
void call_output(Call *call, DType dtype, int rank, const size_t shape[]);
void call_free(Call *call);

/* For the functions that unpack a call: an argument's data (NULL if it was left out), a scalar, a dimension. */
const void *argument(const Call *call, const char *name);
float scalar(const Call *call, const char *name);
int whole_number(const Call *call, const char *name);
int dimension(const Call *call, const char *name, int axis);
void *output(const Call *call);

/* Room to work in that a kernel asks its caller for, guarded as the output is; for Unpack functions. */
void *work_room(const char *name, size_t count);

typedef void (*Function)(void); /* any kernel; an Unpack function knows its true type */
typedef void Unpack(Function kernel, const Call *call);

enum { TROUBLE = 256 };

extern unsigned call_time_limit; /* seconds until a call is given up: 20; the tests shorten it */

/* A shared library that somebody compiled. Its constructors run here and now: one that does not come back is given up
 * as a call is. A path without a slash is one, too. Or fail(). */
void *library_open(const char *path);
Function library_function(void *library, const char *name); /* NULL if it defines none of that name */

/* Runs the kernel once. Returns true if it came back and touched nothing but its own arrays; otherwise `trouble`
 * says what happened. */
bool call_run(const Call *call, Unpack *unpack, Function kernel, char trouble[static TROUBLE]);

/* The same, many times: the best time in seconds, or NaN after trouble. */
double call_time(const Call *call, Unpack *unpack, Function kernel, char trouble[static TROUBLE]);

/* What measure(threads) returns, in a process of its own: the parent starts no threads, for a process that forks must
 * not have any. */
double measure_apart(double measure(int threads), int threads);

#endif
