#include "tests/judge/sandbox.h"
#include "common/check.h"
#include "common/error.h"
#include "common/file.h"
#include "common/timer.h"
#include "tests/judge/landlock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef UNTIMED /* an emulator takes far longer */
unsigned call_time_limit = 120;
#else
unsigned call_time_limit = 10;
#endif

void give_up_in_time(int threads) {
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = (long)call_time_limit * threads},
              NULL);
    alarm(ON_THE_CLOCK * call_time_limit);
}

void forget_the_limit(void) {
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    alarm(0);
}

/* As waitpid says it of who was given up on the clock. */
enum { GIVEN_UP = SIGALRM };

bool was_given_up(int status) {
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);
}

/* ------------------------------------------------------------------ what the processes share */

typedef struct {
    char sought[64]; /* a function's name, where that is all that is asked for */
    Function kernel;
    Unpack *unpack;
    int count;
    Run run[MOST_RUNS];
    bool timed;  /* the first of them, many times */
    int status;  /* how the child ended, as waitpid says it */
    double used; /* the processor's seconds of all its calls that came back */
    Outcome outcome;
} Job;

static Job *job;

static void share_a_job(void) {
    if (!job)
        job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job == MAP_FAILED) fail("no memory to share with the process that the kernel runs in");
}

/* ------------------------------------------------------------------ in the job: guarded arrays */

typedef struct {
    const char *name;
    char *data, *end; /* of the array; around it, canaries up to the forbidden pages */
    char *pages;
    size_t bytes; /* of all pages */
    bool input;   /* to be read only */
} Guarded;

/* A call's arrays and the room it works in. They are gone before the next call: who keeps a pointer
 * finds nothing. */
enum { MOST_GUARDED = CALL_MAX_INPUTS + 8 };
static Guarded guarded[MOST_GUARDED];
static int guarded_count,
    next_room; /* where a timed call is repeated, the room of the time before is there yet */

/* As a float, 1.5058. */
static const uint16_t ORDINARY = 0x3fc0;

static void fill(void *memory, size_t bytes, uint16_t pattern) {
    for (size_t i = 0; i < bytes; i++) ((char *)memory)[i] = ((const char *)&pattern)[i % 2];
}

/* Counts the bytes before `end` that are no longer the pattern, which ends there. */
static size_t overwritten(const char *begin, const char *end, uint16_t pattern) {
    size_t count = 0;
    for (const char *at = begin; at < end; at++)
        count += *at != ((const char *)&pattern)[(size_t)(end - at) % 2];
    return count;
}

/* Wide, so that an index a few rows off still lands in it; a forbidden page costs no memory. */
static const size_t forbidden_bytes = 1 << 20;

static char *middle(const Guarded *one) { return one->pages + forbidden_bytes; }
static size_t middle_bytes(const Guarded *one) { return one->bytes - 2 * forbidden_bytes; }

static Guarded *guard(const char *name, size_t bytes, bool at_end, bool input) {
    if (guarded_count == MOST_GUARDED) fail("a kernel with over %d arrays", MOST_GUARDED);
    Guarded *one = &guarded[guarded_count++];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room =
        (bytes / page + 1) * page; /* at least one byte of canaries before it, or behind it */
    *one = (Guarded){.name = name, .bytes = 2 * forbidden_bytes + room, .input = input};
    one->pages = mmap(NULL, one->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (one->pages == MAP_FAILED) fail("no memory for an array of %zu bytes", bytes);
    mprotect(middle(one), room, PROT_READ | PROT_WRITE);
    fill(middle(one), room, input ? CANARY : POISON);
    one->data = at_end ? middle(one) + room - bytes : middle(one);
    one->end = one->data + bytes;
    return one;
}

static void forget_arrays(void) {
    while (guarded_count > 0) {
        guarded_count--;
        munmap(guarded[guarded_count].pages, guarded[guarded_count].bytes);
    }
}

/* Half of each float, and each byte of a block with another lowest bit. Whole numbers stay: ids and
 * sizes have a limit, or an order. */
static void make_other(const Tensor *input) {
    float *numbers = (float *)input->data;
    bf16 *narrow = (bf16 *)input->data;
    uint8_t *bytes = (uint8_t *)input->data;
    for (size_t i = 0; i < tensor_count(input); i++) {
        if (input->dtype == F32) numbers[i] /= 2;
        if (input->dtype == BF16) narrow[i] = bf16_from_float(bf16_to_float(narrow[i]) / 2);
        if (input->dtype == U8) bytes[i] ^= 1;
    }
}

/* The process's own copy of the call. Where the output is laid over an input, both are one array.
 */
static Call guarded_call(const Run *run) {
    Call call = run->call;
    size_t bytes = tensor_bytes(&call.output);
    call.output.data = guard("out", bytes, run->at_end, false)->data;
    if (run->ordinary) fill((void *)call.output.data, bytes, ORDINARY);
    for (int i = 0; i < call.input_count; i++) {
        Tensor *input = &call.input[i];
        const void *source = input->data;
        bool over = run->in_place && strcmp(run->in_place, input->name) == 0;
        Guarded *own = over ? NULL : guard(input->name, tensor_bytes(input), run->at_end, true);
        input->data = over ? call.output.data : own->data;
        memcpy((void *)input->data, source, tensor_bytes(input));
        if (run->other) make_other(input);
        if (own) mprotect(middle(own), middle_bytes(own), PROT_READ);
    }
    return call;
}

static const Run *running; /* the call that is under way */

static bool may_be_refused(void) { return running && running->may_end; }

void *work_room(const char *name, size_t count) {
    if (next_room == guarded_count) guard(name, count * sizeof(float), running->at_end, false);
    return guarded[next_room++].data;
}

/* True if the canaries on both sides are alive. */
static bool intact(const Guarded *one) {
    const char *last = middle(one) + middle_bytes(one);
    size_t before = overwritten(middle(one), one->data, POISON),
           after = overwritten(one->end, last, POISON);
    char *say = job->outcome.trouble;
    if (before) snprintf(say, TROUBLE, "overran: wrote %zu bytes before %s", before, one->name);
    else if (after)
        snprintf(say, TROUBLE, "overran: wrote %zu bytes past the end of %s", after, one->name);
    return !before && !after;
}

void complain(const char *format, ...) {
    Outcome *outcome = &job->outcome;
    if (outcome->complaint[0]) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(outcome->complaint, TROUBLE, format, arguments);
    va_end(arguments);
    outcome->complained = outcome->returned;
}

/* ------------------------------------------------------------------ in the job: when it faults */

/* Functions of a library that `make verify` linked with guard.c: they know its heap and stack. */
static const char *(*explained_by_library)(const void *address), *(*heap_trouble)(void);
static size_t (*heap_held)(void);
static void (*set_threads)(int threads);

static const char *stack_begin;   /* about where the job's stack begins, which grows down */
enum { STACK_REACH = 100 << 20 }; /* no other memory lies so near below a stack */

/* If the address lies in the array's pages: which end the kernel overran, in words. */
static bool fault_in(const Guarded *one, const char *address) {
    if (address < one->pages || address >= one->pages + one->bytes) return false;
    char *say = job->outcome.trouble;
    const char *name = one->name;
    if (address < one->data)
        snprintf(say, TROUBLE, "went out of bounds: %td bytes before %s", one->data - address,
                 name);
    else if (address == one->end)
        snprintf(say, TROUBLE, "went out of bounds: just past the end of %s", name);
    else if (address > one->end)
        snprintf(say, TROUBLE, "went out of bounds: %td bytes past the end of %s",
                 address - one->end, name);
    else
        snprintf(say, TROUBLE, "wrote to its input %s, byte %td: inputs are read-only", name,
                 address - one->data);
    return true;
}

/* x86 does not tell the address of what a vector of its own alignment was refused. */
static bool is_misaligned(int signal, const siginfo_t *information) {
#if defined __x86_64__ && defined SI_KERNEL
    return signal == SIGSEGV && information->si_code == SI_KERNEL && !information->si_addr;
#else
    return signal == SIGBUS && information->si_code == BUS_ADRALN;
#endif
}

/* Called at a forbidden access: leaves a note and ends the job. */
static void on_fault(int signal, siginfo_t *information, void *context) {
    (void)context;
    const char *address = information->si_addr, *known = NULL;
    char *say = job->outcome.trouble;
    bool explained = false;
    for (int i = 0; i < guarded_count && !explained; i++)
        explained = fault_in(&guarded[i], address);
    if (!explained && explained_by_library) known = explained_by_library(address);
    /* Unsigned: what lies above is far. */
    const bool far_down = (uintptr_t)stack_begin - (uintptr_t)address < STACK_REACH;
    if (explained) _exit(1);
    else if (known) snprintf(say, TROUBLE, "%s", known);
    else if (is_misaligned(signal, information))
        snprintf(say, TROUBLE,
                 "crashed: it loads vectors as if its arrays were aligned, and nobody promises "
                 "that: use unaligned loads");
    else if ((uintptr_t)address < 4096)
        snprintf(say, TROUBLE,
                 "followed a NULL pointer: an argument that may be left out, such as a bias?");
    else if (far_down)
        snprintf(say, TROUBLE,
                 "crashed: the stack is too small for it: a large array, or a recursion without an "
                 "end?");
    else
        snprintf(say, TROUBLE, "crashed: %s at address %p, in none of its arrays",
                 strsignal(signal), (const void *)address);
    _exit(1);
}

/* Where abort() is what another language does when it gives up. */
static bool is_rust;                        /* the library */
static const void *(*exception_type)(void); /* __cxa_current_exception_type, of C++'s library */
static char *(*demangle)(const char *name, char *room, size_t *size, int *status);

/* A std::type_info is its table of functions, and its name. */
static const char *name_of_exception(const void *type) {
    int status;
    const char *name = ((const char *const *)type)[1],
               *plain = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    return plain ? plain : name;
}

/* Called within abort(), which goes on if nothing is said. */
static void on_abort(int signal) {
    (void)signal;
    const void *type = exception_type ? exception_type() : NULL;
    char *say = job->outcome.trouble;
    if (may_be_refused() || (!type && !is_rust)) return;
    if (type)
        snprintf(say, TROUBLE, "crashed: it throws a C++ exception, %.100s, that nothing catches",
                 name_of_exception(type));
    else
        snprintf(say, TROUBLE,
                 "crashed: it panics, as Rust has it; the message above names the line");
    _exit(1);
}

static void catch_faults(void) {
    static char stack[64 << 10]; /* its own stack: the kernel's may be what overflowed */
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigaction(faults[i], &action, NULL);
    sigaction(SIGABRT, &(struct sigaction){.sa_handler = on_abort}, NULL);
}

/* ------------------------------------------------------------------ in the job: the calls */

typedef struct {
    const Call *call;
    int arrays; /* its own; what comes behind them is room to work in */
} Timed;

/* Once more, in the same room: the same call asks for the same. */
static void call_kernel(void *context) {
    const Timed *timed = context;
    next_room = timed->arrays;
    job->unpack(job->kernel, timed->call);
}

void (*when_refused)(void);

/* At the exit() of a kernel that refuses a call, which is what it should do: what has it done
 * before? */
static void look_at_refusal(void) {
    bool good = true;
    for (int i = 0; i < guarded_count && good; i++) good = guarded[i].input || intact(&guarded[i]);
    if (when_refused) when_refused();
}

/* Variables that a kernel does not set have what lay on the stack before: not 0, as in a process
 * that has just begun, but NaNs that the workbench knows. */
__attribute__((noinline)) static void fill_stack(void) {
    uint16_t room[1 << 17];
    for (size_t i = 0; i < sizeof room / sizeof *room; i++) room[i] = UNSET;
    do_not_optimize(room);
}

/* ------------------------------------------------------------------ what a kernel leaves behind */

/* Of the heap, how many bytes are in use: of a library's that is guarded, and of all others. */
static size_t heap_in_use(void) {
    size_t bytes = heap_held ? heap_held() : 0;
#ifdef __GLIBC__
    struct mallinfo2 all = mallinfo2();
    bytes += all.uordblks + all.hblkhd;
#endif
    return bytes;
}

/* The state that whoever calls a kernel counts on. */
static const char *left_behind(void) {
    volatile float tiny = 0x1p-130f, same = 1;
    struct sigaction action;
    if (fegetround() != FE_TONEAREST) return "it leaves another rounding mode behind: fesetround";
    if (tiny * same == 0)
        return "it leaves the processor in flush-to-zero mode: numbers below 1.2e-38 become 0";
    sigaction(SIGSEGV, NULL, &action);
    if (action.sa_sigaction != on_fault) return "it leaves a handler for SIGSEGV behind";
    return NULL;
}

/* False after trouble. */
static bool call_once(const Run *run) {
    running = run;
    set_threads(run->threads);
    Call call = guarded_call(run);
    /* More threads than processors take turns. */
    give_up_in_time(run->threads < thread_count() ? run->threads : thread_count());
    if (run->is_long) {
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = LONG_SECONDS}, NULL);
        alarm(ON_THE_CLOCK * LONG_SECONDS);
    }
    /* Its messages are not for the reader. */
    if (run->may_end) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        atexit(look_at_refusal);
    }
    Timed timed = {&call, guarded_count};
    if (job->timed) job->outcome.seconds = best_seconds(call_kernel, &timed);
    else {
        fill_stack();
        call_kernel(&timed);
    }
    const char *trouble = heap_trouble ? heap_trouble() : NULL, *left = left_behind();
    if (left) complain("%s", left);
    if (trouble) return snprintf(job->outcome.trouble, TROUBLE, "%s", trouble), false;
    for (int i = 0; i < guarded_count; i++)
        if (!guarded[i].input && !intact(&guarded[i])) return false;
    if (run->output) memcpy(run->output, call.output.data, tensor_bytes(&call.output));
    forget_arrays();
    return true;
}

/* What is kept from the first times on, such as a table, is no leak; nor is what a library's thread
 * allocates once: a leak grows in every ten calls. */
static bool call_many_times(const Run *run) {
    enum { SOME = 10 };
    size_t before = 0, least = SIZE_MAX;
    for (int time = 0; time == 0 || time < run->times; time++) {
        if (time >= SOME && time % SOME == 0) {
            size_t now = heap_in_use(), grown = now > before ? now - before : 0;
            if (time > SOME && grown < least) least = grown;
            before = now;
        }
        if (!call_once(run)) return false;
    }
    if (least < SIZE_MAX) job->outcome.leaked = least / SOME;
    return true;
}

/* How far an answer is from another: the largest difference of two numbers, infinite where one of
 * them is none; of bytes, how many differ. */
static double distance_of(const Tensor *output, const void *other) {
    const float *is = output->data, *was = other;
    double most = 0;
    if (output->dtype != F32) {
        for (size_t i = 0; i < tensor_bytes(output); i++)
            most += ((const char *)output->data)[i] != ((const char *)other)[i];
        return most;
    }
    for (size_t i = 0; i < tensor_count(output); i++) {
        double apart = fabs((double)is[i] - was[i]);
        if (memcmp(&is[i], &was[i], sizeof *is) == 0) continue;
        most = isnan(apart) ? INFINITY : fmax(most, apart);
    }
    return most;
}

/* Threads that share what they should not are found only when they do so at one time. */
static bool call_until_they_meet(const Run *run) {
    const double enough = 0.15; /* seconds */
    enum { LEAST = 3, MOST = 400 };
    size_t bytes = tensor_bytes(&run->call.output);
    char *first = xmalloc(bytes + 1), *worst = xmalloc(bytes + 1);
    Tensor output = run->call.output;
    double start = seconds(), apart = 0;
    bool good = true;
    output.data = run->output;
    for (int time = 0; good && time < MOST && (time < LEAST || seconds() - start < enough);
         time++) {
        good = call_once(run);
        if (time == 0) memcpy(first, run->output, bytes);
        double now = good ? distance_of(&output, first) : 0;
        if (time == 0 || now > apart) memcpy(worst, run->output, bytes);
        apart = fmax(apart, now);
    }
    memcpy(run->output, worst, bytes);
    free(first);
    free(worst);
    return good;
}

static void enlarge_stack(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    const rlim_t wanted = 64 << 20;
    if (limit.rlim_cur < wanted && wanted <= limit.rlim_max) limit.rlim_cur = wanted;
    setrlimit(RLIMIT_STACK, &limit);
}

static _Noreturn void do_job(void) {
    stack_begin = (const char *)__builtin_frame_address(0);
    catch_faults();
    if (job->run[0].is_long) enlarge_stack();
    for (int r = 0; r < job->count; r++) {
        const Run *run = &job->run[r];
        if (!(run->meets ? call_until_they_meet(run) : call_many_times(run))) break;
        job->outcome.returned++;
    }
    job->used = processor_seconds();
    fflush(stdout); /* what the kernel printed, for its author */
    _exit(0);
}

/* ------------------------------------------------------------------ the library's process */

/* `make verify SANITIZE=1`: how a sanitizer ends a job, whose report says more than we could. */
enum { STOPPED_BY_SANITIZER = 86 };
#ifdef __SANITIZE_ADDRESS__
#pragma GCC visibility push(default) /* the sanitizer's library calls them */
/* No leaks are looked for: a kernel may exit() as it likes. */
const char *__asan_default_options(void) { return "exitcode=86:print_legend=0:detect_leaks=0"; }
const char *__ubsan_default_options(void) { return "exitcode=86:print_stacktrace=1"; }
#pragma GCC visibility pop
#endif

struct Library {
    char *path;     /* NULL: the functions are this program's own */
    char *source;   /* preprocessed: what lies beside the library as FILE.so.i; or NULL */
    char *messages; /* FILE.so.said; or NULL */
    Library *plain; /* compiled with few optimizations; NULL: not asked for yet, or there is none */
    bool plain_was_asked; /* once is enough, even where it fails */
    pid_t process;        /* 0: there is none */
    int socket;           /* to it: a byte asks, a byte answers */
};

static void on_alarm(int signal) { (void)signal; }

/* Waits for the child, which gives itself up; should its kernel have taken care that it does not,
 * it is killed. How it ended. */
static int wait_for(pid_t process) {
    int status;
    struct sigaction before;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm},
              &before); /* without SA_RESTART: it ends the wait */
    alarm(ON_THE_CLOCK * call_time_limit * (unsigned)job->count + 1);
    bool in_time = waitpid(process, &status, 0) == process;
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    if (in_time) return status;
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
    return GIVEN_UP;
}

static void *load(const char *path) {
    char with_slash[4096]; /* without one, dlopen would look in the system's folders instead */
    snprintf(with_slash, sizeof with_slash, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *handle = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
    if (!handle) snprintf(job->outcome.trouble, TROUBLE, "%s", dlerror()); /* it names the file */
    return handle;
}

Function function_in(void *handle, const char *name) {
    void *symbol = handle ? dlsym(handle, name) : NULL;
    Function function;
    memcpy(&function, &symbol,
           sizeof function); /* ISO C has no cast from object to function pointers */
    return function;
}

static bool has_word(const char *path, const char *word) {
    size_t size;
    char *bytes = path && strchr(path, '/') ? file_read_regular(path, &size) : NULL;
    bool found = bytes && memmem(bytes, size, word, strlen(word));
    free(bytes);
    return found;
}

/* The threads are those of the OpenMP that the library was built with, which need not be ours. */
static void learn_from(const char *path, void *handle) {
    Function threads = function_in(handle, "omp_set_num_threads");
    set_threads = threads ? (void (*)(int))threads : use_threads;
    explained_by_library =
        (const char *(*)(const void *))function_in(handle, "llama_guard_explains");
    exception_type = (const void *(*)(void))function_in(handle, "__cxa_current_exception_type");
    demangle =
        (char *(*)(const char *, char *, size_t *, int *))function_in(handle, "__cxa_demangle");
    is_rust = has_word(path, "panicked at");
    heap_trouble = (const char *(*)(void))function_in(handle, "llama_guard_trouble");
    heap_held = (size_t(*)(void))function_in(handle, "llama_guard_held");
}

void sweep_after(pid_t process) {
    char name[64];
    snprintf(name, sizeof name, "/dev/shm/__KMP_REGISTERED_LIB_%ld_%ld", (long)process,
             (long)getuid());
    unlink(name);
}

/* The job closes its end of the socket: should it end this process, verify is told at once. */
static void start_job(int socket) {
    pid_t process = fork();
    if (process == 0) {
        close(socket);
        do_job();
    }
    if (process < 0)
        snprintf(job->outcome.trouble, TROUBLE, "cannot start a process to run the kernel in: %s",
                 strerror(errno));
    else job->status = wait_for(process);
    sweep_after(process);
}

/* Waits until somebody asks, and says whether: not when verify is no more. Its end of the socket
 * may live on in another library's process. */
static bool is_asked(int socket, pid_t verify) {
    char byte;
    while (poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, 1000) == 0)
        if (getppid() != verify) return false;
    return read(socket, &byte, 1) == 1;
}

static _Noreturn void serve(const char *path, int socket, pid_t verify) {
    void *handle = NULL;
    if (path) {
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        hide_goldens();
        give_up_in_time(1);
        handle = load(path);
        forget_the_limit();
    }
    learn_from(path, handle);
    char byte = handle || !path ? 1 : 0;
    while (send(socket, &byte, 1, MSG_NOSIGNAL) == 1 && byte && is_asked(socket, verify)) {
        if (job->sought[0]) job->kernel = function_in(handle, job->sought);
        else start_job(socket);
        byte = 1;
    }
    _exit(0);
}

/* The answer of the process: 1 it is done, 0 it cannot be, -1 it is no more (or has not answered in
 * time, and was ended). */
static int answer(Library *library, int seconds, bool *in_time) {
    struct pollfd socket = {.fd = library->socket, .events = POLLIN};
    char byte = 0;
    *in_time = poll(&socket, 1, seconds * 1000) != 0;
    if (*in_time && read(library->socket, &byte, 1) == 1) return byte;
    return -1;
}

/* Ends the process, if it has not ended yet; how it ended. */
static int end_process(Library *library, bool kill_it) {
    int status = 0;
    if (library->process == 0) return 0;
    if (kill_it) kill(library->process, SIGKILL);
    close(library->socket);
    waitpid(library->process, &status, 0);
    library->process = 0;
    return status;
}

static void say_how_it_ended(int status, const char *when, char trouble[static TROUBLE]) {
    if (was_given_up(status))
        snprintf(trouble, TROUBLE, "did not come back within %u second%s%s", call_time_limit,
                 call_time_limit == 1 ? "" : "s", when);
    else if (WIFSIGNALED(status))
        snprintf(trouble, TROUBLE, "crashed: %s%s", strsignal(WTERMSIG(status)), when);
    else if (WEXITSTATUS(status) == STOPPED_BY_SANITIZER)
        snprintf(trouble, TROUBLE,
                 "crashed: a sanitizer stopped it, whose report above names the line");
    else
        snprintf(trouble, TROUBLE, "ended the program: exit status %d%s", WEXITSTATUS(status),
                 when);
}

static bool start_process(Library *library, char trouble[static TROUBLE]) {
    int ends[2];
    bool in_time;
    call_share();
    share_a_job();
    memset(job, 0, sizeof *job);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        fail("cannot talk to the process that the kernel is to run in: %s", strerror(errno));
    fflush(NULL); /* or the child would print again what waits in the buffers */
    pid_t verify = getpid();
    library->process = fork();
    if (library->process < 0)
        fail("cannot start a process to run the kernel in: %s", strerror(errno));
    if (library->process == 0) {
        close(ends[0]);
        serve(library->path, ends[1], verify);
    }
    close(ends[1]);
    library->socket = ends[0];
    int answered = answer(library, ON_THE_CLOCK * (int)call_time_limit + 1, &in_time);
    if (answered == 1) return true;
    int status = end_process(library, !in_time);
    if (answered == 0) snprintf(trouble, TROUBLE, "%s", job->outcome.trouble);
    else
        say_how_it_ended(in_time ? status : GIVEN_UP,
                         " when it was loaded: what does its constructor do?", trouble);
    return false;
}

static char *text_beside(const char *path, const char *ending) {
    char name[4096];
    size_t length;
    snprintf(name, sizeof name, "%s%s", path, ending);
    return access(name, R_OK) == 0 ? file_read(name, &length) : NULL;
}

const char *library_source(const Library *library) { return library->source; }
const char *library_messages(const Library *library) { return library->messages; }

Library *library_load(const char *path, char trouble[static TROUBLE]) {
    Library *library = xmalloc(sizeof *library);
    *library = (Library){0};
    if (path) {
        library->path = xstrndup(path, strlen(path));
        library->source = text_beside(path, ".i");
        library->messages = text_beside(path, ".said");
    }
    if (start_process(library, trouble)) return library;
    library_close(library);
    return NULL;
}

Library *library_open(const char *path) {
    char trouble[TROUBLE];
    Library *library = library_load(path, trouble);
    if (!library)
        fail("%s%s%s", strstr(trouble, path) ? "" : path, strstr(trouble, path) ? "" : " ",
             trouble);
    return library;
}

Library *library_plain(Library *library) {
    char command[4096 + 32], path[4096], trouble[TROUBLE];
    if (library->plain_was_asked || !library->path) return library->plain;
    library->plain_was_asked = true;
    snprintf(path, sizeof path, "%s.again", library->path);
    if (access(path, R_OK) != 0) return NULL;
    snprintf(command, sizeof command, "sh '%s' >/dev/null 2>&1", path);
    if (strchr(path, '\'') || system(command) != 0) return NULL;
    snprintf(path, sizeof path, "%s.plain.so", library->path);
    return library->plain = library_load(path, trouble);
}

void library_close(Library *library) {
    if (library->plain) library_close(library->plain);
    end_process(library, true);
    free(library->path);
    free(library->source);
    free(library->messages);
    free(library);
}

/* Sends the job that is in the shared memory, and waits for its end. */
static void send_job(Library *library) {
    char trouble[TROUBLE] = "";
    const Job asked = *job;
    bool in_time = true;
    if (library->process == 0 &&
        !start_process(library, trouble)) { /* a job before has ended it: another begins */
        memcpy(job->outcome.trouble, trouble, TROUBLE);
        return;
    }
    *job = asked;
    fflush(NULL);
    bool asked_it = send(library->socket, "", 1, MSG_NOSIGNAL) == 1;
    if (asked_it &&
        answer(library, ON_THE_CLOCK * (int)call_time_limit * (MOST_RUNS + 1), &in_time) == 1)
        return;
    say_how_it_ended(end_process(library, true), ", in the process that started it",
                     job->outcome.trouble);
}

bool library_mangles(const Library *library, const char *name) {
    char mangled[128];
    snprintf(mangled, sizeof mangled, "_Z%zu%s", strlen(name), name);
    return has_word(library->path, mangled);
}

bool library_has_threads(const Library *library) {
    static const char *const starts[] = {"GOMP_parallel", "__kmpc_fork_call", "pthread_create",
                                         "thrd_create"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (has_word(library->path, starts[i])) return true;
    return false;
}

Function library_function(Library *library, const char *name) {
    share_a_job();
    memset(job, 0, sizeof *job);
    snprintf(job->sought, sizeof job->sought, "%s", name);
    send_job(library);
    return job->kernel;
}

/* ------------------------------------------------------------------ jobs, as verify sees them */

/* This program's own functions have a process, too: what they break, threads or arrays, is theirs.
 */
static Library *own_functions(void) {
    static Library *own;
    static pid_t owner; /* a child of this process must not use its parent's */
    char trouble[TROUBLE];
    if (own && owner == getpid()) return own;
    owner = getpid();
    own = library_load(NULL, trouble);
    if (!own) fail("%s", trouble);
    return own;
}

/* fail() exits with 1; assert() and abort() will do. */
static bool is_refusal(int status) {
    return (WIFEXITED(status) && WEXITSTATUS(status) != 0) ||
           (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static double used_by_jobs;
double seconds_of_jobs(void) { return used_by_jobs; }

static Outcome finish(Library *library) {
    send_job(library);
    used_by_jobs += job->used;
    Outcome outcome = job->outcome;
    char *said = outcome.trouble;
    bool refused = outcome.returned < job->count && job->run[outcome.returned].may_end &&
                   is_refusal(job->status);
    if (said[0] || refused || outcome.returned == job->count) return outcome;
    say_how_it_ended(job->status, "", said);
    return outcome;
}

static void describe_job(Function kernel, Unpack *unpack, int count, const Run runs[]) {
    if (count > MOST_RUNS) fail("a job with over %d calls", MOST_RUNS);
    share_a_job();
    *job = (Job){.kernel = kernel, .unpack = unpack, .count = count, .outcome.seconds = NAN};
    memcpy(job->run, runs, (size_t)count * sizeof *runs);
}

Outcome run_job(Library *library, Function kernel, Unpack *unpack, int count, const Run runs[]) {
    Library *home = library ? library : own_functions();
    describe_job(kernel, unpack, count, runs);
    return finish(home);
}

double time_call(Library *library, Function kernel, Unpack *unpack, const Call *call, void *output,
                 char trouble[static TROUBLE]) {
    Library *home = library ? library : own_functions();
    describe_job(kernel, unpack, 1,
                 &(Run){.call = *call, .threads = thread_count(), .output = output});
    job->timed = true;
    Outcome outcome = finish(home);
    memcpy(trouble, outcome.trouble, TROUBLE);
    return outcome.trouble[0] ? NAN : outcome.seconds;
}

double measure_apart(double measure(int threads), int threads) {
    share_a_job();
    fflush(NULL);
    pid_t process = fork();
    if (process < 0) fail("cannot start a process to measure in: %s", strerror(errno));
    if (process == 0) {
        job->outcome.seconds = measure(threads);
        _exit(0);
    }
    waitpid(process, NULL, 0);
    sweep_after(process);
    return job->outcome.seconds;
}
