/* grade: a folder of submissions, judged one by one. README.md, "For teachers".
 *
 * A submission is compiled, loaded and judged in a process of its own, which leads a process group
 * and has limits on its time, memory and files. What it prints goes nowhere; what it is worth it
 * leaves in memory that grade shares with it. When it ends, or its time is up, the whole group is
 * ended. */
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"
#include "common/timer.h"
#include "tests/judge/exercises.h"
#include "tests/judge/signature.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Compiling may use the processor so many times as long as a call may, and each step of a
 * submission (compiling, loading, a task) may take so many times as long on the clock. Loading is
 * given up by sandbox.c long before that. */
enum { TO_COMPILE = 2, FOR_A_STEP = 4 * ON_THE_CLOCK };
enum { MOST_GRADES = 128 };

/* In bytes. The first is a submission's own memory, beside what it shares with its judge. */
static const rlim_t most_memory = ((rlim_t)1 << 30) + SHARED_BYTES;
static const rlim_t most_compiled = (rlim_t)64 << 20;
static const rlim_t most_written = (rlim_t)1 << 20;

/* The verdict on one task. */
typedef struct {
    const Kernel *kernel; /* NULL: on the submission as a whole */
    KernelStatus status;
    int passed, cases;
    char diagnosis[DIAGNOSIS];
} Grade;

/* The report of a submission's process: how far it is, and its grades so far. */
typedef struct {
    enum { COMPILING, LOADING, JUDGING, DONE } stage;
    int judging; /* which of the grades */
    bool as_one; /* all grades are the same: it does not compile, or cannot be loaded */
    int count;
    Grade grades[MOST_GRADES];
} Result;

typedef struct {
    char name[NAME_MAX + 1], path[PATH_MAX];
    Result *result; /* shared with its process */
    pid_t process;  /* 0 before it runs, and after */
    int step;       /* the last that was seen of it */
    double since;   /* and when it began */
} Submission;

/* ---------------------------------- the submission's own process */

static void grade_all(Result *result, KernelStatus kernel_status, const char *diagnosis) {
    if (result->count == 0) result->grades[result->count++] = (Grade){0};
    result->as_one = true;
    for (int g = 0; g < result->count; g++) {
        result->grades[g].status = kernel_status;
        snprintf(result->grades[g].diagnosis, DIAGNOSIS, "%s", diagnosis);
    }
}

static void limit(int resource, rlim_t most) { setrlimit(resource, &(struct rlimit){most, most}); }

/* The memory that the process has already: under a sanitizer terabytes that are never touched. */
static rlim_t memory_now(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void confine(const char *folder) {
    limit(RLIMIT_AS, memory_now() + most_memory);
    limit(RLIMIT_FSIZE, most_compiled);
    limit(RLIMIT_CORE, 0);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL); /* a sanitizer's handlers would make an exit of a crash */
    int nowhere = open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; standard++) dup2(nowhere, standard);
    if (chdir(folder) != 0) _exit(1);
    setenv("TMPDIR", ".", 1); /* for the compiler's own files */
    setenv("LC_ALL", "C", 1);
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }
static int is_c_file(const struct dirent *entry) {
    return is_visible(entry) && name_ends_in(entry->d_name, ".c");
}

/* The compiler's last line, or the first that it calls an error, without the folders before the
 * file. */
static void compiler_error(char diagnosis[static DIAGNOSIS]) {
    char line[DIAGNOSIS] = "the compiler gives up without a word";
    FILE *file = fopen("errors", "r");
    while (file && !strstr(line, "error: ") && fgets(line, sizeof line, file)) {
    }
    if (file) fclose(file);
    line[strcspn(line, "\n")] = '\0';
    const char *name = line, *place = strstr(line, ".c:");
    for (const char *slash; place && (slash = strchr(name, '/')) && slash < place;)
        name = slash + 1;
    snprintf(diagnosis, DIAGNOSIS, "%s", name);
}

/* Runs the compiler as `make verify` does. If it fails, says why. */
static bool compile(const char *path, char diagnosis[static DIAGNOSIS]) {
    int status = 0;
    pid_t compiler = fork();
    if (compiler == 0) {
        limit(RLIMIT_CPU, TO_COMPILE * call_time_limit);
        dup2(open("errors", O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        execl("/bin/sh", "sh", BUILD "/compile.sh", "library.so", "-w", "-Wfatal-errors", path,
              NULL);
        _exit(1);
    }
    if (compiler > 0) waitpid(compiler, &status, 0);
    if (compiler > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    compiler_error(diagnosis);
    if (WIFSIGNALED(status))
        snprintf(diagnosis, DIAGNOSIS, "the compiler was ended: %s", strsignal(WTERMSIG(status)));
    return false;
}

static bool is_defined(Library *library, const Kernel *kernel) {
    char both[DIAGNOSIS]; /* signatures */
    const char *messages = library_messages(library);
    return library_function(library, kernel->name) &&
           !(messages && signature_of(messages, kernel, both) == OTHER_SIGNATURE);
}

/* Without an exercise the tasks are all kernels that the submission defines. */
static void choose_tasks(Result *result, Library *library) {
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)) && result->count < MOST_GRADES; k++)
        if (is_defined(library, kernel))
            result->grades[result->count++] = (Grade){.kernel = kernel};
    if (result->count) return;
    char why[DIAGNOSIS], diagnosis[DIAGNOSIS];
    snprintf(diagnosis, sizeof diagnosis, "it defines no kernel of the course: %.400s",
             hides_a_kernel(library, NULL, why) ? why : "build/verify --list names them");
    grade_all(result, NOT_IMPLEMENTED, diagnosis);
}

static void judge_task(Grade *grade, Library *library) {
    Judgement judgement =
        judge(&(Subject){grade->kernel, library, library_function(library, grade->kernel->name)});
    grade->status = judgement.status;
    grade->passed = judgement.passed;
    grade->cases = judgement.golden.count;
    memcpy(grade->diagnosis, judgement.diagnosis, DIAGNOSIS);
    judgement_free(&judgement);
}

static void run_submission(const char *path, const char *folder, Result *result) {
    char diagnosis[DIAGNOSIS], trouble[TROUBLE];
    confine(folder);
    if (!compile(path, diagnosis)) {
        grade_all(result, DOES_NOT_COMPILE, diagnosis);
        return;
    }
    limit(RLIMIT_FSIZE, most_written);
    result->stage = LOADING;
    Library *library = library_load("./library.so", trouble);
    if (!library) { /* "./library.so: undefined symbol: …", or how its process ended */
        KernelStatus kernel_status = status_of(trouble);
        const char *colon = strstr(trouble, ": ");
        grade_all(result, kernel_status == WRONG ? DOES_NOT_COMPILE : kernel_status,
                  kernel_status == WRONG && colon ? colon + 2 : trouble);
        return;
    }
    if (result->count == 0) choose_tasks(result, library);
    result->stage = JUDGING;
    for (int g = 0; g < result->count && result->grades[g].kernel; g++) {
        result->judging = g;
        judge_task(&result->grades[g], library);
    }
}

/* ---------------------------------- beside it: who runs, how it ends */

static char scratch[PATH_MAX - 64]; /* a folder; in it, each submission has one of its own */

static void start(Submission *submission, int number) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%d", scratch, number);
    if (mkdir(folder, 0700) != 0) fail("cannot make the folder %s: %s", folder, strerror(errno));
    submission->step = -1;
    fflush(NULL);
    submission->process = fork();
    if (submission->process < 0)
        fail("cannot start a process for %s: %s", submission->name, strerror(errno));
    if (submission->process == 0) {
        setpgid(0, 0);
        run_submission(submission->path, folder, submission->result);
        submission->result->stage = DONE;
        _exit(0);
    }
    setpgid(submission->process, submission->process); /* here too: whoever comes first */
}

/* The grade that it was at, and those that were never tried. */
static void cut_short(Result *result, KernelStatus kernel_status, const char *diagnosis) {
    if (result->stage != JUDGING) {
        grade_all(result, kernel_status, diagnosis);
        return;
    }
    const Kernel *culprit = result->grades[result->judging].kernel;
    for (int g = result->judging; g < result->count; g++) {
        Grade *grade = &result->grades[g];
        grade->status = kernel_status;
        if (grade->kernel == culprit) snprintf(grade->diagnosis, DIAGNOSIS, "%s", diagnosis);
        else
            snprintf(grade->diagnosis, DIAGNOSIS, "not tried: %s %.400s", culprit->name, diagnosis);
    }
}

/* It did not get to its end. Why? */
static void explain_the_end(Result *result, bool in_time, int status) {
    char diagnosis[DIAGNOSIS];
    const char *when = result->stage == LOADING ? " when it is loaded: does a constructor?" : "";
    KernelStatus kernel_status = EXITS;
    if (!in_time) {
        kernel_status = result->stage == COMPILING ? DOES_NOT_COMPILE : DOES_NOT_COME_BACK;
        snprintf(diagnosis, sizeof diagnosis, "%sdoes not come back within %u seconds%s",
                 result->stage == COMPILING ? "the compiler " : "", FOR_A_STEP * call_time_limit,
                 when);
    } else if (WIFSIGNALED(status)) {
        int signal = WTERMSIG(status);
        if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL)
            kernel_status = CRASHES;
        snprintf(diagnosis, sizeof diagnosis, "ends its process, %s%s", strsignal(signal), when);
    } else
        snprintf(diagnosis, sizeof diagnosis, "ends its process, exit status %d%s",
                 WEXITSTATUS(status), when);
    cut_short(result, kernel_status, diagnosis);
}

/* Ends a submission's process and all that it started, and lets nobody write into its result any
 * more. */
static void finish(Submission *submission, bool in_time) {
    int status;
    kill(-submission->process, SIGKILL);
    waitpid(submission->process, &status, 0);
    submission->process = 0;
    Result *own = xmalloc(sizeof *own);
    memcpy(own, submission->result, sizeof *own);
    munmap(submission->result, sizeof *own);
    submission->result = own;
    if (own->stage != DONE) explain_the_end(own, in_time, status);
}

/* Looks at a submission that runs. True when it is over. */
static bool over(Submission *submission) {
    const volatile Result *result = submission->result;
    siginfo_t ended = {0};
    int step = (int)result->stage * MOST_GRADES + result->judging;
    if (step != submission->step) {
        submission->step = step;
        submission->since = seconds();
    }
    /* It stays a zombie, and so its group keeps its number. */
    waitid(P_PID, (id_t)submission->process, &ended, WEXITED | WNOHANG | WNOWAIT);
    bool in_time = seconds() - submission->since < FOR_A_STEP * call_time_limit;
    if (ended.si_pid == 0 && in_time) return false;
    finish(submission, ended.si_pid != 0);
    return true;
}

static volatile sig_atomic_t interrupted;
static void on_interrupt(int signal) { interrupted = signal; }

static int remove_one(const char *path, const struct stat *, int, struct FTW *) {
    return remove(path), 0;
}

/* Grades them all, `jobs` at a time. */
static void grade_submissions(int count, Submission submissions[count], int jobs) {
    const char *temporary = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/llama-grade-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(scratch)) fail("cannot make the folder %s: %s", scratch, strerror(errno));
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    signal(SIGHUP, on_interrupt);
    for (int next = 0, done = 0, shown = -1, running = 0; done < count && !interrupted;) {
        for (; next < count && running < jobs; next++, running++) start(&submissions[next], next);
        for (int s = 0; s < next; s++)
            if (submissions[s].process > 0 && over(&submissions[s])) {
                done++;
                running--;
            }
        if (done != shown) progress_bar((size_t)done, (size_t)count, "%d of %d", done, count);
        shown = done;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    for (int s = 0; s < count; s++)
        if (submissions[s].process > 0) finish(&submissions[s], false);
    nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (!interrupted) return;
    signal(interrupted, SIG_DFL);
    raise(interrupted);
}

/* ---------------------------------- what is handed out */

/* The grade that names a submission: its first mistake, or else the first task that is missing. */
static const Grade *deciding_grade(const Result *result) {
    const Grade *missing = NULL;
    for (int g = 0; g < result->count; g++) {
        const Grade *grade = &result->grades[g];
        if (grade->status == NOT_IMPLEMENTED && !missing) missing = grade;
        if (grade->status != NOT_IMPLEMENTED && grade->status != RIGHT) return grade;
    }
    return missing ? missing : &result->grades[0];
}

static void submission_row(Table *table, const Submission *submission) {
    const Result *result = submission->result;
    const Grade *grade = deciding_grade(result);
    char name[NAME_MAX + 1], reason[DIAGNOSIS + 64] = "";
    int right = 0;
    for (int g = 0; g < result->count; g++) right += result->grades[g].status == RIGHT;
    snprintf(name, sizeof name, "%s", submission->name);
    const char *diagnosis = grade->diagnosis[0] ? grade->diagnosis : "nothing is written yet";
    bool is_of_a_task = grade->kernel && !result->as_one;
    if (grade->status != RIGHT)
        snprintf(reason, sizeof reason, "%s%s%s", is_of_a_task ? grade->kernel->name : "",
                 is_of_a_task ? ": " : "", diagnosis);
    table_row(table, "%s|%s|%d of %d|%s", as_cell(name), status_name(grade->status), right,
              grade->kernel ? result->count : 0, as_cell(reason));
}

/* The table; returns how many submissions are right. */
static int print_table(int count, const Submission submissions[count]) {
    Table table = {0};
    int right = 0;
    table_row(&table, "submission|<verdict|right|<the first thing wrong");
    for (int s = 0; s < count; s++) {
        submission_row(&table, &submissions[s]);
        right += deciding_grade(submissions[s].result)->status == RIGHT;
    }
    table_print(&table, stdout);
    return right;
}

/* A field of a CSV file (RFC 4180): in quotes if it must be. What a spreadsheet would take for a
 * formula begins with an apostrophe: nobody's file name shall compute on the teacher's machine. */
static void csv_field(FILE *file, const char *text, char end) {
    bool quoted = strpbrk(text, "\",\r\n") || text[0] == ' ';
    if (quoted) fputc('"', file);
    if (text[0] && strchr("=+-@\t", text[0])) fputc('\'', file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    if (quoted) fputc('"', file);
    fputc(end, file);
}

static void write_csv(const char *path, const Exercise *exercise, int count,
                      const Submission submissions[count]) {
    Output output = output_open(path);
    FILE *file = output.file;
    fputs("submission,exercise,task,verdict,cases passed,cases,diagnosis\n", file);
    for (int s = 0; s < count; s++)
        for (int g = 0; g < submissions[s].result->count; g++) {
            const Grade *grade = &submissions[s].result->grades[g];
            const char *chapter = exercise        ? exercise->chapter
                                  : grade->kernel ? grade->kernel->chapter
                                                  : "";
            csv_field(file, submissions[s].name, ',');
            fprintf(file, "%.*s,", (int)strcspn(chapter, "_"), chapter); /* 04, or common */
            csv_field(file, grade->kernel ? grade->kernel->name : "", ',');
            csv_field(file, status_name(grade->status), ',');
            fprintf(file, "%d,%d,", grade->passed, grade->cases);
            csv_field(file, grade->diagnosis, '\n');
        }
    output_close(&output);
}

/* ---------------------------------- the command line */

/* Every submission begins with the exercise's tasks, none of them done. */
static Result nothing_done(const Exercise *exercise) {
    Result result = {0};
    for (int t = 0; exercise && t < task_count(exercise); t++) {
        Golden golden = golden_open(exercise->tasks[t]);
        result.grades[result.count++] = (Grade){.kernel = kernel_named(exercise->tasks[t]),
                                                .status = NOT_IMPLEMENTED,
                                                .cases = golden.count};
        golden_close(&golden);
    }
    return result;
}

/* NAME.c, and folders; whatever else lies there is passed over. */
static int find_submissions(const char *folder, const Result *begin, Submission **submissions) {
    struct dirent **entries;
    char *whole = realpath(folder, NULL);
    int all = whole ? scandir(whole, &entries, is_visible, alphasort) : -1, count = 0;
    if (all < 0) fail("cannot read the folder %s: %s", folder, strerror(errno));
    *submissions = xmalloc((size_t)(all + 1) * sizeof **submissions);
    for (int n = 0; n < all; n++) {
        Submission *next = &(*submissions)[count];
        *next = (Submission){0};
        snprintf(next->name, sizeof next->name, "%s", entries[n]->d_name);
        if (snprintf(next->path, PATH_MAX, "%s/%s", whole, next->name) >= PATH_MAX)
            fail("%s: too long a name", next->name);
        bool is_one = is_c_file(entries[n]) || file_is_folder(next->path);
        free(entries[n]);
        if (!is_one) continue;
        next->result =
            mmap(NULL, sizeof *begin, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (next->result == MAP_FAILED) fail("no memory to share with %s", next->name);
        *next->result = *begin;
        count++;
    }
    free(entries);
    free(whole);
    if (count == 0)
        fail("%s holds no submissions: NAME.c files, or folders with C files in them", folder);
    return count;
}

int main(int argc, char **argv) {
    const char *number = NULL, *csv = NULL, *limit = "10", *jobs = "2";
    char limits[200];
    snprintf(limits, sizeof limits,
             "so long a case, or loading, may use the processor, and %d times so long compiling; "
             "on the clock, for others are busy, too, a case may take %d times that, compiling or "
             "a task in all %d times: 10",
             TO_COMPILE, ON_THE_CLOCK, FOR_A_STEP);
    const Option options[] = {
        {"exercise", "NN",
         "the tasks of chapter NN's exercise; otherwise every kernel that a submission defines",
         &number},
        {"csv", "FILE", "write there what every task of every submission is worth", &csv},
        {"timeout|seconds", "N", limits, &limit},
        {"jobs", "N", "so many submissions at a time: 2", &jobs},
    };
    int rest = parse_options(argc, argv, "FOLDER [options]",
                             "Compiles and judges every submission in a folder: NAME.c files, and "
                             "folders with C files in them.\n"
                             "Exit status 0 only if all are right.",
                             4, options);
    if (rest >= argc) usage_error("name the folder of the submissions");
    if (rest + 1 < argc) usage_error("%s: one folder at a time", argv[rest + 1]);
    call_time_limit = (unsigned)option_number("timeout", limit, 1, 3600);
    const Exercise *exercise = number ? exercise_numbered(number) : NULL;
    int jobs_at_a_time = (int)option_number("jobs", jobs, 1, 256);

    Submission *submissions;
    const Result begin = nothing_done(exercise);
    int count = find_submissions(argv[rest], &begin, &submissions);
    grade_submissions(count, submissions, jobs_at_a_time);
    int right = print_table(count, submissions);
    printf("%d of %d right\n", right, count);
    if (csv) {
        write_csv(csv, exercise, count, submissions);
        printf("Each task by itself: %s\n", csv);
    }
    for (int s = 0; s < count; s++) free(submissions[s].result);
    free(submissions);
    return right == count ? 0 : 1;
}
