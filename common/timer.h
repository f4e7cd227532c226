/* Clocks, threads, and what a measurement is said with. */
#ifndef COMMON_TIMER_H
#define COMMON_TIMER_H

double seconds(void);           /* a clock that never goes back */
double processor_seconds(void); /* used by all threads of this process */

/* A clock for work on so many threads. For one thread, it stands still while the machine is busy
 * with other programs. */
double work_seconds(int threads);

/* A number per second as text: "13", and below 1 with two digits, "0.83". */
enum { RATE_TEXT = 32 };
const char *rate_text(char text[static RATE_TEXT], double rate);

/* The shortest of several repetitions of run(context), in seconds. Repeats for about a tenth of a
 * second. */
double best_seconds(void run(void *context), void *context);

/* As many numbers lie below it as above. Sorts them. */
double median(int count, double numbers[count]);

/* Threads that a parallel loop will use: OMP_NUM_THREADS, or all cores; 1 without OpenMP. */
int thread_count(void);
void use_threads(int threads); /* from now on; without OpenMP there is only one */

/* The most memory in bytes that this process ever had, mapped files included, according to Linux;
 * or 0. */
double peak_memory(void);

/* Keeps the compiler from dropping a computation whose result nobody reads. */
void do_not_optimize(const void *result);

#endif
