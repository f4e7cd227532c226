#include "tests/verify/sandbox.h"
#include "common/check.h"
#include "common/error.h"
#include "common/measure.h"

#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ guarded buffers */

static void fill(void *memory, size_t bytes, uint16_t pattern) {
    for (size_t i = 0; i < bytes; i++) ((char *)memory)[i] = ((const char *)&pattern)[i % 2];
}

/* How many of the bytes are no longer poison. */
static size_t overwritten(const char *memory, size_t bytes) {
    const uint16_t pattern = POISON;
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) count += memory[i] != ((const char *)&pattern)[i % 2];
    return count;
}

/* Wide, so that an index a few rows off still lands in it; a forbidden page costs no memory. */
static const size_t forbidden_bytes = 1 << 20;

/* What lies between the forbidden pages: a canary page, the data, canaries up to the page's end. */
static char *middle(const Buffer *buffer) { return buffer->pages + forbidden_bytes; }
static size_t middle_bytes(const Buffer *buffer) { return buffer->page_bytes - 2 * forbidden_bytes; }

static Buffer buffer_new(const char *name, DType dtype, int rank, const size_t shape[]) {
    Buffer buffer = {.tensor = {.name = name, .dtype = dtype, .rank = rank}};
    if (rank) memcpy(buffer.tensor.shape, shape, (size_t)rank * sizeof *shape);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t data_pages = tensor_bytes(&buffer.tensor) / page + 1; /* at least one canary byte after the data */
    buffer.page_bytes = 2 * forbidden_bytes + (1 + data_pages) * page;
    buffer.pages = mmap(NULL, buffer.page_bytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (buffer.pages == MAP_FAILED) fail("no memory for a buffer of %zu bytes", buffer.page_bytes);
    mprotect(middle(&buffer), middle_bytes(&buffer), PROT_READ | PROT_WRITE);
    fill(middle(&buffer), middle_bytes(&buffer), CANARY);
    buffer.tensor.data = middle(&buffer) + page;
    return buffer;
}

static void buffer_free(Buffer *buffer) {
    if (buffer->pages) munmap(buffer->pages, buffer->page_bytes);
    *buffer = (Buffer){0};
}

void *call_input(Call *call, const char *name, DType dtype, int rank, const size_t shape[]) {
    if (call->input_count == CALL_MAX_INPUTS) fail("a kernel with over %d inputs", CALL_MAX_INPUTS);
    Buffer *buffer = &call->input[call->input_count++];
    *buffer = buffer_new(name, dtype, rank, shape);
    return (void *)buffer->tensor.data;
}

void call_output(Call *call, DType dtype, int rank, const size_t shape[]) {
    call->output = buffer_new("out", dtype, rank, shape);
}

void call_free(Call *call) {
    for (int i = 0; i < call->input_count; i++) buffer_free(&call->input[i]);
    buffer_free(&call->output);
    call->input_count = 0;
}

/* ------------------------------------------------------------------ arguments by name */

static const Tensor *find(const Call *call, const char *name) {
    for (int i = 0; i < call->input_count; i++)
        if (strcmp(call->input[i].tensor.name, name) == 0) return &call->input[i].tensor;
    return NULL;
}

static const Tensor *need(const Call *call, const char *name) {
    const Tensor *tensor = find(call, name);
    if (!tensor) fail("a golden case has no input \"%s\"", name);
    return tensor;
}

const void *argument(const Call *call, const char *name) {
    const Tensor *tensor = find(call, name);
    return tensor ? tensor->data : NULL;
}

float scalar(const Call *call, const char *name) { return (float)tensor_get(need(call, name), 0); }
int whole_number(const Call *call, const char *name) { return (int)tensor_get(need(call, name), 0); }
int dimension(const Call *call, const char *name, int axis) { return (int)need(call, name)->shape[axis]; }
void *output(const Call *call) { return (void *)call->output.tensor.data; }

/* ------------------------------------------------------------------ room to work in */

enum { MAX_ROOMS = 4 };
static Buffer rooms[MAX_ROOMS]; /* the child's; it ends with them */
static int room_count;

void *work_room(const char *name, size_t count) {
    for (int i = 0; i < room_count; i++)
        if (strcmp(rooms[i].tensor.name, name) == 0) return (void *)rooms[i].tensor.data;
    if (room_count == MAX_ROOMS) fail("a kernel with over %d rooms to work in", MAX_ROOMS);
    Buffer *room = &rooms[room_count++];
    *room = buffer_new(name, F32, 1, &count);
    fill(middle(room), middle_bytes(room), POISON);
    return (void *)room->tensor.data;
}

unsigned call_time_limit = 20;

/* ------------------------------------------------------------------ somebody's library */

static void on_endless_loading(int signal) {
    (void)signal;
    static const char line[] = "error: the library does not come back from being loaded: what does its constructor do?\n";
    _exit(write(STDERR_FILENO, line, sizeof line - 1) < 0 ? 2 : 1);
}

void *library_open(const char *path) {
    char with_slash[4096]; /* without one, dlopen would look in the system's folders instead */
    snprintf(with_slash, sizeof with_slash, "%s%s", strchr(path, '/') ? "" : "./", path);
    signal(SIGALRM, on_endless_loading);
    alarm(call_time_limit);
    void *library = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
    alarm(0);
    signal(SIGALRM, SIG_DFL);
    if (!library) fail("%s", dlerror()); /* it names the file */
    return library;
}

Function library_function(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    Function function;
    memcpy(&function, &symbol, sizeof function); /* ISO C has no cast from object to function pointers */
    return function;
}

/* ------------------------------------------------------------------ the process of its own */

/* What the child tells the parent; it lies in memory that both share. */
typedef struct {
    bool returned;
    char trouble[TROUBLE];
    double seconds; /* or what else was measured */
} Outcome;

static Outcome *outcome;
static const Call *running;     /* in the child: the call that a fault is explained by, */
static const char *stack_begin; /* and about where its stack begins, which grows down */

/* No other memory lies so near below a stack. */
enum { STACK_REACH = 100 << 20 };

/* If the address lies in the buffer's pages: which end the kernel overran, in words. */
static bool fault_in(const Buffer *buffer, const char *address) {
    if (address < buffer->pages || address >= buffer->pages + buffer->page_bytes) return false;
    const char *data = buffer->tensor.data, *end = data + tensor_bytes(&buffer->tensor), *name = buffer->tensor.name;
    char *say = outcome->trouble;
    if (address < data) snprintf(say, TROUBLE, "went out of bounds: %td bytes before %s", data - address, name);
    else if (address >= end) snprintf(say, TROUBLE, "went out of bounds: %td bytes past the end of %s", address - end, name);
    else snprintf(say, TROUBLE, "wrote to its input %s, byte %td: inputs are read-only", name, address - data);
    return true;
}

/* Called in the child at a forbidden access: leaves a note and ends the child. */
static void on_fault(int signal, siginfo_t *information, void *context) {
    (void)context;
    const char *address = information->si_addr;
    bool explained = fault_in(&running->output, address);
    for (int i = 0; i < running->input_count && !explained; i++) explained = fault_in(&running->input[i], address);
    for (int i = 0; i < room_count && !explained; i++) explained = fault_in(&rooms[i], address);
    const bool null = (uintptr_t)address < 4096, far_down = address < stack_begin && stack_begin - address < STACK_REACH;
    if (null) snprintf(outcome->trouble, TROUBLE, "followed a NULL pointer: an argument that may be left out, such as a bias?");
    else if (!explained && far_down)
        snprintf(outcome->trouble, TROUBLE, "crashed: the stack is too small for it: a large array, or a recursion without an end?");
    else if (!explained)
        snprintf(outcome->trouble, TROUBLE, "crashed: %s at address %p, in none of its arrays", strsignal(signal),
                 (const void *)address);
    _exit(1);
}

static void catch_faults(void) {
    static char stack[64 << 10]; /* its own stack: the kernel's may be what overflowed */
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (int i = 0; i < 4; i++) sigaction(faults[i], &action, NULL);
}

/* True if the canaries on both sides of a buffer are alive. */
static bool intact(const Buffer *buffer, char trouble[static TROUBLE]) {
    const char *data = buffer->tensor.data, *end = data + tensor_bytes(&buffer->tensor), *name = buffer->tensor.name;
    const char *first = middle(buffer), *last = first + middle_bytes(buffer);
    size_t before = overwritten(first, (size_t)(data - first)), after = overwritten(end, (size_t)(last - end));
    if (before) snprintf(trouble, TROUBLE, "overran: wrote %zu bytes before %s", before, name);
    else if (after) snprintf(trouble, TROUBLE, "overran: wrote %zu bytes past the end of %s", after, name);
    return !before && !after;
}

typedef struct {
    const Call *call;
    Unpack *unpack;
    Function kernel;
} Job;

static void do_job(void *context) {
    const Job *job = context;
    job->unpack(job->kernel, job->call);
}

static void protect_inputs(const Call *call, int protection) {
    for (int i = 0; i < call->input_count; i++) {
        const Buffer *input = &call->input[i];
        mprotect(middle(input), middle_bytes(input), protection);
    }
}

static void child(Job *job, bool timed) {
    running = job->call, stack_begin = (const char *)&job;
    catch_faults();
    alarm(call_time_limit + 1); /* should the parent be gone by then: nobody else would end it */
    if (timed) outcome->seconds = best_seconds(do_job, job);
    else do_job(job);
    bool good = intact(&job->call->output, outcome->trouble);
    for (int i = 0; i < room_count && good; i++) good = intact(&rooms[i], outcome->trouble);
    outcome->returned = true;
    fflush(stdout); /* what the kernel printed, for its author */
    _exit(0);
}

static void share_outcome(void) {
    if (!outcome) outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED) fail("no memory to share with the process that the kernel runs in");
    *outcome = (Outcome){.seconds = NAN};
}

static void on_alarm(int signal) { (void)signal; }

/* Waits for the child, and kills it when its time is up. Returns false then. */
static bool wait_for(pid_t process, int *status) {
    struct sigaction before;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm}, &before); /* without SA_RESTART: it ends the wait */
    alarm(call_time_limit);
    bool in_time = waitpid(process, status, 0) == process;
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    if (in_time) return true;
    kill(process, SIGKILL);
    waitpid(process, status, 0);
    return false;
}

static pid_t start_process(void) {
    fflush(NULL); /* or the child would print again what waits in the buffers */
    pid_t process = fork();
    if (process < 0) fail("cannot start a process to run the kernel in");
    return process;
}

static bool run(const Call *call, Unpack *unpack, Function kernel, bool timed, char trouble[static TROUBLE]) {
    share_outcome();
    fill(middle(&call->output), middle_bytes(&call->output), POISON);
    protect_inputs(call, PROT_READ);

    pid_t process = start_process();
    if (process == 0) child(&(Job){call, unpack, kernel}, timed);
    int status = 0;
    bool in_time = wait_for(process, &status);
    protect_inputs(call, PROT_READ | PROT_WRITE);

    char *said = outcome->trouble;
    if (!said[0] && !in_time)
        snprintf(said, TROUBLE, "did not come back within %u second%s", call_time_limit, call_time_limit == 1 ? "" : "s");
    else if (!said[0] && WIFSIGNALED(status)) snprintf(said, TROUBLE, "crashed: %s", strsignal(WTERMSIG(status)));
    else if (!said[0] && !outcome->returned)
        snprintf(said, TROUBLE, "ended the program: exit status %d", WEXITSTATUS(status));
    memcpy(trouble, said, TROUBLE);
    return trouble[0] == '\0';
}

bool call_run(const Call *call, Unpack *unpack, Function kernel, char trouble[static TROUBLE]) {
    return run(call, unpack, kernel, false, trouble);
}

double call_time(const Call *call, Unpack *unpack, Function kernel, char trouble[static TROUBLE]) {
    return run(call, unpack, kernel, true, trouble) ? outcome->seconds : NAN;
}

double measure_apart(double measure(int threads), int threads) {
    share_outcome();
    pid_t process = start_process();
    if (process == 0) {
        outcome->seconds = measure(threads);
        _exit(0);
    }
    waitpid(process, NULL, 0);
    return outcome->seconds;
}
