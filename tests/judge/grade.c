/* grade: a folder of submissions, judged one by one. README.md, "For teachers".
 *
 * A submission is somebody's program, and may do anything. It is compiled, loaded and judged in a process of its own,
 * with limits on its time, memory and files, whose output goes nowhere; what it is worth is left in memory that this
 * process shares. When it ends, or its time is up, whatever else it started is ended too.
 *
 *   grade ── watches the time, ends the group
 *     └ supervisor ── leads the group; on Linux it opens a world of processes for what follows
 *         └ init ── process 1 of that world, which ends with it: says how the next one ended
 *             └ the submission ── compiles, loads, judges; each call of a kernel in one more process, sandbox.c */
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
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/mount.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_GRADES = 128 };

/* How often the time of a call may be taken: of the processor by the compiler; on the clock by loading, and by a task.
 * Loading is given up by sandbox.c long before that: on a busy machine it needs some time to say so. */
enum { TO_COMPILE = 2, TO_LOAD = 2 * ON_THE_CLOCK, FOR_A_TASK = 4 * ON_THE_CLOCK };

/* In bytes. The first is a submission's own memory, beside what its judge shares with it. */
static const rlim_t most_memory = ((rlim_t)1 << 30) + SHARED_BYTES, most_compiled = (rlim_t)64 << 20,
    most_written = (rlim_t)1 << 20;

/* What one task is worth. */
typedef struct {
    const Kernel *kernel; /* NULL: of the submission as a whole */
    Fate fate;
    int passed, cases;
    char diagnosis[DIAGNOSIS];
} Grade;

/* What a submission's process says: how far it is, and its grades so far. */
typedef struct {
    enum { COMPILING, LOADING, JUDGING, DONE } stage;
    int judging; /* which of the grades */
    int status;  /* how the process ended, as waitpid says it */
    bool as_one; /* all grades are one: it does not compile, or cannot be loaded */
    int count;
    Grade grades[MOST_GRADES];
} Result;

typedef struct {
    char *name, *path;
    Result result;
    volatile Result *shared; /* while it runs */
    pid_t process;           /* 0: not yet; -1: no more */
    int step;                /* the last that was seen of it, */
    double since;            /* and when it began */
} Submission;

static char scratch[PATH_MAX - 64]; /* a folder; in it, each submission has one of its own */

/* ------------------------------------------------------------------ the submission's own process */

/* One fate for all of it. */
static void grade_all(Result *result, Fate fate, const char *diagnosis) {
    if (result->count == 0) result->grades[result->count++] = (Grade){0};
    result->as_one = true;
    for (int g = 0; g < result->count; g++) {
        result->grades[g].fate = fate;
        snprintf(result->grades[g].diagnosis, DIAGNOSIS, "%s", diagnosis);
    }
}

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static const int requests[] = {SIGINT, SIGTERM, SIGHUP}; /* to end */
enum { FAULTS = sizeof faults / sizeof *faults, REQUESTS = sizeof requests / sizeof *requests };

static void limit(int resource, rlim_t most) { setrlimit(resource, &(struct rlimit){most, most}); }

/* How much memory the process has already: with a sanitizer, terabytes that it never touches. */
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
    for (int f = 0; f < FAULTS; f++) signal(faults[f], SIG_DFL); /* a sanitizer would make an exit of a crash */
    for (int r = 0; r < REQUESTS; r++) signal(requests[r], SIG_DFL);
    int nowhere = open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; standard++) dup2(nowhere, standard);
    if (chdir(folder) != 0) _exit(1);
    setenv("TMPDIR", ".", 1); /* the compiler's own files */
    setenv("LC_ALL", "C", 1);
}

static int by_name(const void *left, const void *right) { return strcmp(*(char *const *)left, *(char *const *)right); }

static bool is_c_file(const char *name) { return name[0] != '.' && name_ends_in(name, ".c"); }

/* The sorted names in a folder, without the hidden ones. */
static int names_in(const char *folder, char ***names) {
    DIR *directory = opendir(folder);
    if (!directory) fail("cannot read the folder %s: %s", folder, strerror(errno));
    int count = 0;
    *names = NULL;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        *names = reallocate(*names, (size_t)(count + 1) * sizeof **names);
        (*names)[count++] = copy_text(entry->d_name, strlen(entry->d_name));
    }
    closedir(directory);
    if (count) qsort(*names, (size_t)count, sizeof **names, by_name);
    return count;
}

static char *path_of(const char *folder, const char *name) {
    char *path = allocate(strlen(folder) + strlen(name) + 2);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

/* The C files of a submission, behind `words`; how many there are. */
static int add_sources(const char *path, int most, const char *words[most]) {
    if (!file_is_folder(path)) return words[0] = path, 1;
    char **names;
    int count = 0;
    for (int n = 0, all = names_in(path, &names); n < all && count < most; n++)
        if (is_c_file(names[n])) words[count++] = path_of(path, names[n]);
    return count;
}

/* The last line of what the compiler says, or the first that it calls an error, without the folders before the file. */
static void compiler_error(char diagnosis[static DIAGNOSIS]) {
    char line[DIAGNOSIS] = "the compiler gives up without a word";
    FILE *file = fopen("errors", "r");
    while (file && !strstr(line, "error: ") && fgets(line, sizeof line, file)) {}
    if (file) fclose(file);
    line[strcspn(line, "\n")] = '\0';
    const char *name = line, *place = strstr(line, ".c:");
    for (const char *slash; place && (slash = strchr(name, '/')) && slash < place;) name = slash + 1;
    snprintf(diagnosis, DIAGNOSIS, "%s", name);
}

/* Runs the compiler, as `make verify` does. If it fails, says why. Its time is the processor's: on a busy machine it
 * may wait long for its turn. */
static bool compile(const char *path, char diagnosis[static DIAGNOSIS]) {
    enum { MOST_SOURCES = 1000, OWN_WORDS = 5 };
    const char *words[OWN_WORDS + MOST_SOURCES + 1] = {"sh", BUILD "/compile.sh", "library.so", "-w", "-Wfatal-errors"};
    int sources = add_sources(path, MOST_SOURCES, words + OWN_WORDS);
    if (sources == 0) return snprintf(diagnosis, DIAGNOSIS, "there is no C file in the folder"), false;
    int status = 0;
    pid_t compiler = fork();
    if (compiler == 0) {
        limit(RLIMIT_CPU, TO_COMPILE * call_time_limit);
        dup2(open("errors", O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        execv("/bin/sh", (char **)words);
        _exit(1);
    }
    if (compiler > 0) waitpid(compiler, &status, 0);
    if (compiler > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    compiler_error(diagnosis);
    if (WIFSIGNALED(status)) snprintf(diagnosis, DIAGNOSIS, "the compiler was ended: %s", strsignal(WTERMSIG(status)));
    return false;
}

static bool is_defined(Library *library, const Kernel *kernel) {
    char both[DIAGNOSIS]; /* signatures */
    const char *source = library_source(library);
    return library_function(library, kernel->name) &&
           !(source && signature_of(source, kernel, both) == OTHER_SIGNATURE);
}

static void choose_tasks(const Exercise *exercise, Result *result, Library *library) {
    const Kernel *kernel;
    for (int k = 0; !exercise && (kernel = kernel_at(k)); k++)
        if (is_defined(library, kernel) && result->count < MOST_GRADES)
            result->grades[result->count++] = (Grade){.kernel = kernel};
    if (result->count) return;
    char why[DIAGNOSIS], diagnosis[DIAGNOSIS];
    snprintf(diagnosis, sizeof diagnosis, "it defines no kernel of the course: %.400s",
             hides_a_kernel(library, NULL, why) ? why : "build/verify --list names them");
    grade_all(result, NOT_IMPLEMENTED, diagnosis);
}

static void judge_tasks(Result *result, Library *library) {
    for (int g = 0; g < result->count && result->grades[g].kernel; g++) {
        Grade *grade = &result->grades[g];
        result->judging = g;
        Judgement judgement = judge(&(Subject){grade->kernel, library, library_function(library, grade->kernel->name)});
        grade->fate = judgement.fate, grade->passed = judgement.passed, grade->cases = judgement.golden.count;
        memcpy(grade->diagnosis, judgement.diagnosis, DIAGNOSIS);
        judgement_free(&judgement);
    }
}

static void run_submission(const char *path, const char *folder, const Exercise *exercise, Result *result) {
    char diagnosis[DIAGNOSIS];
    confine(folder);
    if (!compile(path, diagnosis)) {
        grade_all(result, DOES_NOT_COMPILE, diagnosis);
        return;
    }
    limit(RLIMIT_FSIZE, most_written);
    result->stage = LOADING;
    char trouble[TROUBLE];
    Library *library = library_load("./library.so", trouble);
    if (!library) { /* "./library.so: undefined symbol: …", or how its process ended */
        Fate fate = fate_of(trouble);
        const char *colon = strstr(trouble, ": ");
        grade_all(result, fate == WRONG ? DOES_NOT_COMPILE : fate, fate == WRONG && colon ? colon + 2 : trouble);
        return;
    }
    choose_tasks(exercise, result, library);
    result->stage = JUDGING;
    judge_tasks(result, library);
}

/* ------------------------------------------------------------------ beside it: who runs, how it ends */

#ifdef __linux__
static void write_text(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file >= 0) (void)!write(file, text, strlen(text));
    if (file >= 0) close(file);
}

/* Whoever is not root may make a world of his own where he is. */
static bool become_root(void) {
    char user[64], group[64];
    snprintf(user, sizeof user, "0 %ld 1", (long)getuid());
    snprintf(group, sizeof group, "0 %ld 1", (long)getgid());
    if (unshare(CLONE_NEWUSER) != 0) return false;
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", user);
    write_text("/proc/self/gid_map", group);
    return true;
}
#endif

/* From now on this process's children live in a world of their own, from where no process outside can be seen or ended;
 * when the first of them ends, so do all. Where that cannot be had, they are at least one group. */
static void open_a_world(void) {
    setpgid(0, 0);
#ifdef __linux__
    const int world = CLONE_NEWPID | CLONE_NEWNS;
    if (unshare(world) != 0 && become_root()) (void)!unshare(world);
#endif
}

/* In it, by its first process: its own list of processes, and its own shared memory, where LLVM's OpenMP leaves a file
 * by the number of its process, of which there may be another in each world. */
static void furnish_the_world(void) {
#ifdef __linux__
    if (getpid() != 1 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return;
    mount("proc", "/proc", "proc", 0, NULL);
    mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
#endif
}

static _Noreturn void supervise(const char *path, const char *folder, const Exercise *exercise, Result *result) {
    open_a_world();
    pid_t init = fork();
    if (init == 0) {
        furnish_the_world();
        pid_t process = fork();
        if (process == 0) {
            run_submission(path, folder, exercise, result);
            result->stage = DONE;
            _exit(0);
        }
        if (process > 0) waitpid(process, &result->status, 0);
        _exit(0);
    }
    if (init > 0) waitpid(init, NULL, 0);
    _exit(0);
}

static void start(Submission *submission, int number, const Exercise *exercise) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%d", scratch, number);
    if (mkdir(folder, 0700) != 0) fail("cannot make the folder %s: %s", folder, strerror(errno));
    Result *result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (result == MAP_FAILED) fail("no memory to share with %s", submission->name);
    *result = submission->result;
    submission->shared = result, submission->step = -1;
    fflush(NULL);
    submission->process = fork();
    if (submission->process < 0) fail("cannot start a process for %s: %s", submission->name, strerror(errno));
    if (submission->process == 0) supervise(submission->path, folder, exercise, result);
    setpgid(submission->process, submission->process); /* here too: whoever comes first */
}

/* What is left of it: this grade, and those that were never tried. */
static void cut_short(Result *result, Fate fate, const char *diagnosis) {
    if (result->stage != JUDGING) {
        grade_all(result, fate, diagnosis);
        return;
    }
    const Kernel *culprit = result->grades[result->judging].kernel;
    for (int g = result->judging; g < result->count; g++) {
        Grade *grade = &result->grades[g];
        grade->fate = fate;
        if (grade->kernel == culprit) snprintf(grade->diagnosis, DIAGNOSIS, "%s", diagnosis);
        else snprintf(grade->diagnosis, DIAGNOSIS, "not tried: %s %.400s", culprit->name, diagnosis);
    }
}

/* The seconds that a submission may stay where it is. */
static unsigned patience(const volatile Result *result) {
    return (result->stage == LOADING ? TO_LOAD : FOR_A_TASK) * call_time_limit;
}

/* It did not get to its end. Why? */
static void explain_the_end(Result *result, bool in_time) {
    int status = result->status;
    char diagnosis[DIAGNOSIS];
    const char *when = result->stage == LOADING ? " when it is loaded: does a constructor?" : "";
    bool fault = false;
    for (int f = 0; f < FAULTS; f++) fault |= WIFSIGNALED(status) && WTERMSIG(status) == faults[f];
    if (!in_time) {
        snprintf(diagnosis, sizeof diagnosis, "%sdoes not come back within %u seconds%s",
                 result->stage == COMPILING ? "the compiler " : "", patience(result), when);
        cut_short(result, result->stage == COMPILING ? DOES_NOT_COMPILE : DOES_NOT_COME_BACK, diagnosis);
    } else {
        if (WIFSIGNALED(status))
            snprintf(diagnosis, sizeof diagnosis, "ends its process, %s%s", strsignal(WTERMSIG(status)), when);
        else snprintf(diagnosis, sizeof diagnosis, "ends its process, exit status %d%s", WEXITSTATUS(status), when);
        cut_short(result, fault ? CRASHES : EXITS, diagnosis);
    }
}

/* Ends a submission: its process, all that it started, and what it wrote. */
static void finish(Submission *submission, bool in_time) {
    kill(-submission->process, SIGKILL);
    waitpid(submission->process, NULL, 0);
    memcpy(&submission->result, (const void *)submission->shared, sizeof submission->result);
    munmap((void *)submission->shared, sizeof submission->result);
    submission->process = -1;
    if (submission->result.stage != DONE) explain_the_end(&submission->result, in_time);
}

/* Looks at a submission that runs. Returns true when it is over. */
static bool over(Submission *submission) {
    siginfo_t ended = {0};
    int step = (int)submission->shared->stage * MOST_GRADES + submission->shared->judging;
    if (step != submission->step) submission->step = step, submission->since = seconds();
    /* It stays, and so does its number. */
    waitid(P_PID, (id_t)submission->process, &ended, WEXITED | WNOHANG | WNOWAIT);
    bool in_time = seconds() - submission->since < patience(submission->shared);
    if (ended.si_pid == 0 && in_time) return false;
    finish(submission, ended.si_pid != 0);
    return true;
}

static volatile sig_atomic_t interrupted;
static void on_interrupt(int signal) { interrupted = signal; }

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return remove(path), 0;
}

static void show_done(int done, int count) {
    static int shown = -1;
    if (done != shown) progress_bar((size_t)done, (size_t)count, "%d of %d", done, count);
    shown = done;
}

/* Grades them all, `jobs` at a time. */
static void grade_submissions(int count, Submission submissions[count], int jobs, const Exercise *exercise) {
    const char *temporary = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/llama-grade-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(scratch)) fail("cannot make the folder %s: %s", scratch, strerror(errno));
    for (int r = 0; r < REQUESTS; r++) signal(requests[r], on_interrupt);
    int next = 0, done = 0, running = 0;
    while (done < count && !interrupted) {
        for (; next < count && running < jobs; next++, running++) start(&submissions[next], next, exercise);
        for (int s = 0; s < next; s++)
            if (submissions[s].process > 0 && over(&submissions[s])) done++, running--;
        show_done(done, count);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    for (int s = 0; s < next; s++)
        if (submissions[s].process > 0) finish(&submissions[s], false);
    nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (!interrupted) return;
    signal(interrupted, SIG_DFL);
    raise(interrupted);
}

/* ------------------------------------------------------------------ what is handed out */

/* What a submission is called: by the first mistake in it, or else by what is missing. */
static const Grade *deciding_grade(const Result *result) {
    const Grade *missing = NULL;
    for (int g = 0; g < result->count; g++) {
        const Grade *grade = &result->grades[g];
        if (grade->fate == NOT_IMPLEMENTED && !missing) missing = grade;
        if (grade->fate != NOT_IMPLEMENTED && grade->fate != RIGHT) return grade;
    }
    return missing ? missing : &result->grades[0];
}

static int rights(const Result *result) {
    int count = 0;
    for (int g = 0; g < result->count; g++) count += result->grades[g].fate == RIGHT;
    return count;
}

static void submission_row(Table *table, const Submission *submission) {
    const Result *result = &submission->result;
    const Grade *grade = deciding_grade(result);
    char name[NAME_MAX + 1], reason[DIAGNOSIS + 64] = "";
    snprintf(name, sizeof name, "%s", submission->name);
    const char *diagnosis = grade->diagnosis[0] ? grade->diagnosis : "nothing is written yet";
    bool of_a_task = grade->kernel && !result->as_one;
    if (grade->fate != RIGHT && of_a_task) snprintf(reason, sizeof reason, "%s: %s", grade->kernel->name, diagnosis);
    else if (grade->fate != RIGHT) snprintf(reason, sizeof reason, "%s", diagnosis);
    table_row(table, "%s|%s|%d of %d|%s", as_cell(name), fate_name(grade->fate), rights(result),
              grade->kernel ? result->count : 0, as_cell(reason));
}

/* A field of a CSV file (RFC 4180): in quotes if it must be. What a spreadsheet would take for a formula begins with an
 * apostrophe: nobody's file name shall compute on the teacher's machine. */
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

static void csv_rows(FILE *file, const Exercise *exercise, const Submission *submission) {
    for (int g = 0; g < submission->result.count; g++) {
        const Grade *grade = &submission->result.grades[g];
        const char *chapter = exercise ? exercise->chapter : grade->kernel ? grade->kernel->chapter : "";
        csv_field(file, submission->name, ',');
        fprintf(file, "%.*s,", (int)strcspn(chapter, "_"), chapter); /* 04, or common */
        csv_field(file, grade->kernel ? grade->kernel->name : "", ',');
        csv_field(file, fate_name(grade->fate), ',');
        fprintf(file, "%d,%d,", grade->passed, grade->cases);
        csv_field(file, grade->diagnosis, '\n');
    }
}

static void write_csv(const char *path, const Exercise *exercise, int count, const Submission submissions[count]) {
    Output output = output_open(path);
    fputs("submission,exercise,task,verdict,cases passed,cases,diagnosis\n", output.file);
    for (int s = 0; s < count; s++) csv_rows(output.file, exercise, &submissions[s]);
    output_close(&output);
}

/* The table; returns how many submissions are right. */
static int print_table(int count, const Submission submissions[count]) {
    Table table = {0};
    int right = 0;
    table_row(&table, "submission|<verdict|right|<the first thing wrong");
    for (int s = 0; s < count; s++) {
        submission_row(&table, &submissions[s]);
        right += deciding_grade(&submissions[s].result)->fate == RIGHT;
    }
    table_print(&table, stdout);
    return right;
}

/* ------------------------------------------------------------------ the command line */

/* What every submission begins with: an exercise's tasks, none of them done. */
static Result nothing_done(const Exercise *exercise) {
    Result result = {0};
    for (int t = 0; exercise && t < task_count(exercise); t++) {
        Golden golden = golden_open(exercise->tasks[t]);
        result.grades[result.count++] =
            (Grade){.kernel = kernel_named(exercise->tasks[t]), .fate = NOT_IMPLEMENTED, .cases = golden.count};
        golden_close(&golden);
    }
    return result;
}

/* NAME.c, and folders; whatever else lies there is passed over. */
static int find_submissions(const char *folder, const Exercise *exercise, Submission **submissions) {
    char **names, *whole = realpath(folder, NULL);
    if (!whole) fail("cannot read the folder %s: %s", folder, strerror(errno));
    int all = names_in(whole, &names), count = 0;
    *submissions = allocate((size_t)(all + 1) * sizeof **submissions);
    for (int n = 0; n < all; n++) {
        char *path = path_of(whole, names[n]);
        if (is_c_file(names[n]) || file_is_folder(path))
            (*submissions)[count++] = (Submission){.name = names[n], .path = path, .result = nothing_done(exercise)};
        else free(names[n]), free(path);
    }
    free(names), free(whole);
    if (count == 0) fail("%s holds no submissions: NAME.c files, or folders with C files in them", folder);
    return count;
}

int main(int argc, char **argv) {
    const char *number = NULL, *csv = NULL, *limit = "10", *jobs = "2";
    char limits[200];
    snprintf(limits, sizeof limits,
             "so long a case, or loading, may use the processor, and %d times so long compiling; on the clock, "
             "for others are busy, too, a case may take %d times that, compiling or a task in all %d times: 10",
             TO_COMPILE, ON_THE_CLOCK, FOR_A_TASK);
    const Option options[] = {
        {"exercise", "NN", "the tasks of chapter NN's exercise; otherwise every kernel that a submission defines",
         &number},
        {"csv", "FILE", "write there what every task of every submission is worth", &csv},
        {"seconds", "N", limits, &limit},
        {"jobs", "N", "so many submissions at a time: 2", &jobs},
    };
    int rest = parse_options(argc, argv, "FOLDER [options]",
                             "Compiles and judges every submission in a folder: NAME.c files, and folders with C files "
                             "in them.\n"
                             "Exit status 0 only if all are right.", 4, options);
    if (rest >= argc) usage_error("name the folder of the submissions");
    if (rest + 1 < argc) usage_error("%s: one folder at a time", argv[rest + 1]);
    call_time_limit = (unsigned)option_number("seconds", limit, 1, 3600);
    const Exercise *exercise = number ? exercise_numbered(number) : NULL;

    Submission *submissions;
    int count = find_submissions(argv[rest], exercise, &submissions);
    grade_submissions(count, submissions, (int)option_number("jobs", jobs, 1, 256), exercise);
    int right = print_table(count, submissions);
    printf("%d of %d right\n", right, count);
    if (csv) write_csv(csv, exercise, count, submissions), printf("Each task by itself: %s\n", csv);
    for (int s = 0; s < count; s++) free(submissions[s].name), free(submissions[s].path);
    free(submissions);
    return right == count ? 0 : 1;
}
