/* A kernel that somebody wrote tonight may write past its arrays, loop for ever, crash, or look for
 * the answers. So it is never called here. A library is loaded by a process of its own, started
 * before any golden file is opened, and each job runs in a child of that one:
 *
 *     verify ── has the golden values, judges; opens no library
 *       └ the library's process ── loads it, waits for jobs, and for how they end
 *           └ one job ── calls the kernel some times in a row, and ends with _exit: no destructor,
 * no atexit
 *
 * In a job the kernel's arrays are copies that stand between forbidden pages. One time they begin
 * where one ends, the next time they end where one begins:
 *
 *     | forbidden | data … canary | forbidden |          | forbidden | canary … data | forbidden |
 *
 * The output is poisoned before each call, so that what was never written is known; the inputs are
 * read-only. */
#ifndef VERIFY_SANDBOX_H
#define VERIFY_SANDBOX_H

#include "tests/judge/call.h"

#include <sys/types.h>

typedef void (*Function)(void); /* any kernel; an Unpack function knows its true type */
typedef void Unpack(Function kernel, const Call *call);

enum { TROUBLE = 256, MOST_RUNS = 12 };

/* The processor's seconds until a call is given up: 10; the tests shorten it. On a busy machine the
 * call waits for its turn: on the clock it has so many times that, and who only sleeps is waited
 * for so long. */
extern unsigned call_time_limit;
enum { ON_THE_CLOCK = 5 };

/* A right kernel may be slow where a dimension is long; it is not waited for. */
#ifdef UNTIMED
enum { LONG_SECONDS = 60 };
#else
enum { LONG_SECONDS = 2 };
#endif

/* Ends this process when its threads, so many, have each used call_time_limit; forget_the_limit()
 * takes that back. */
void give_up_in_time(int threads);
void forget_the_limit(void);
bool was_given_up(int status); /* as waitpid says it */

/* The processor's seconds that all jobs so far have used. */
double seconds_of_jobs(void);

/* ------------------------------------------------------------------ somebody's library */

typedef struct Library Library;

/* Starts the library's process. Its constructors run over there and now. If that does not end well,
 * `trouble` says how, and NULL is returned. A path without a slash is one, too. */
Library *library_load(const char *path, char trouble[static TROUBLE]);
Library *library_open(const char *path); /* the same, or fail() */
void library_close(Library *library);

/* The same files, compiled once more with few optimizations, if `make verify` has left word how to;
 * otherwise, or if that fails, NULL. The library closes it. */
Library *library_plain(Library *library);

/* The preprocessed source, and the compiler's messages about its kernels (signature.h), if `make
 * verify` has compiled it; otherwise NULL. */
const char *library_source(const Library *library);
const char *library_messages(const Library *library);

/* The address of a function in the library's process; NULL if the library defines none of that
 * name. */
Function library_function(Library *library, const char *name);

/* Does it start threads? */
bool library_has_threads(const Library *library);

/* Has it a function of this name as C++ has it, mangled with its arguments? */
bool library_mangles(const Library *library, const char *name);

/* The address of a function in a library that this process has opened; NULL if there is none, or no
 * handle. */
Function function_in(void *handle, const char *name);

/* ------------------------------------------------------------------ a job */

/* One of a job's calls, and its circumstances. A right kernel's answer depends on none of them. */
typedef struct {
    Call call;
    int threads;
    int times;            /* it is made so often, and what the last time wrote counts; 0: once */
    bool meets;           /* it is made again and again, so that its threads meet in one place, and
                             the answer least like the first counts */
    bool other;           /* its floats and blocks are other ones; the answer is not looked at */
    bool at_end;          /* the arrays end at a forbidden page */
    bool ordinary;        /* out is full of ordinary numbers before the call, and not of NaN */
    bool is_long;         /* the stack is larger than usual, and the time shorter: LONG_SECONDS */
    const char *in_place; /* the input that the output is laid over, where the contract allows that;
                             or NULL */
    bool may_end; /* the contract asks that it be refused: that the kernel end the program is no
                     trouble */
    void *output; /* where what it wrote is kept: call_room of the output's size */
} Run;

/* The outcome of a job. */
typedef struct {
    int returned; /* how many of the calls came back and touched nothing but their own arrays */
    char trouble[TROUBLE];   /* what happened to the next one, or "" */
    char complaint[TROUBLE]; /* what the contract promises besides the output, and is not so; or ""
                              */
    int complained;          /* the call that this is about */
    size_t
        leaked; /* bytes of the heap that each time of a call made many times has not given back */
    double seconds; /* the best time of the first call, where many were asked for */
} Outcome;

/* Calls the kernel as `runs` say, one after the other, in one process. `library` is where it lies,
 * NULL for this program's own. */
Outcome run_job(Library *library, Function kernel, Unpack *unpack, int count, const Run runs[]);

/* The same call again and again: the best time in seconds, or NaN after trouble. What it wrote the
 * last time is copied to `output`, which is call_room of its size, or NULL. */
double time_call(Library *library, Function kernel, Unpack *unpack, const Call *call, void *output,
                 char trouble[static TROUBLE]);

/* For Unpack functions: room to work in that a kernel asks its caller for, guarded as the output
 * is; and what they find wrong that is not in the output. */
void *work_room(const char *name, size_t count);
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern void (*when_refused)(
    void); /* looks, and complains, when the kernel ends the program as it should */

/* LLVM's OpenMP leaves a file behind when its process ends without its farewell, and stumbles over
 * it in the next of that number. */
void sweep_after(pid_t process);

/* Calls measure(threads) in a process of its own: this one starts no threads, for a process that
 * forks must not have any. */
double measure_apart(double measure(int threads), int threads);

#endif
