/* mine: the reader's kernels, judged, and the Llama that they make: the README.md of the course,
 * "Build your own".
 *
 * Each file is compiled by itself, and judged as verify does it. Then a process of its own puts the
 * kernels in place of ours, right or wrong, and lets the Llama speak. It may crash, loop or exit:
 * it has noted what it was at. */
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"
#include "common/sentence.h"
#include "common/timer.h"
#include "tests/judge/exercises.h"
#include "tests/judge/landlock.h"
#include "tests/judge/yours.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char model_folder[] = ROOT "/common/stories/model";

/* ------------------------------------------------------------------ the reader's files */

/* A file, and what is left of it when it has been judged. */
typedef struct {
    char *name;             /* as the reader calls it */
    char library[PATH_MAX]; /* what came of it */
    char trouble[TROUBLE];  /* why it gives no kernels, or "" */
    bool touched;           /* it is more than what the reader was given */
} File;

/* One kernel of one file. */
typedef struct {
    const File *file;
    const Kernel *kernel;
    KernelStatus status;
    int passed, cases;
    char diagnosis[DIAGNOSIS];
} Row;

typedef struct {
    int files, rows;
    File *file;
    Row *row;
} Work;

/* What does not compile leaves no library; the compiler has said why. */
static bool compile(const char *source, const char *library) {
    unlink(library);
    fflush(NULL);
    int status = 0;
    pid_t compiler = fork();
    if (compiler < 0) fail("cannot start the compiler: %s", strerror(errno));
    if (compiler == 0) {
        execl("/bin/sh", "sh", BUILD "/compile.sh", library, source, (char *)NULL);
        _exit(127);
    }
    waitpid(compiler, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A C file becomes a library; anything else is one. */
static void make_library(File *file, const char *path, int number) {
    if (!name_ends_in(path, ".c")) {
        if (!realpath(path, file->library)) fail("cannot open %s: %s", path, strerror(errno));
        return;
    }
    mkdir(BUILD "/yours", 0777);
    snprintf(file->library, sizeof file->library, "%s/yours/%d.so", BUILD, number);
    if (!compile(path, file->library)) snprintf(file->trouble, TROUBLE, "it does not compile");
}

/* Is it a kernel that the reader wrote? */
static bool is_written(KernelStatus kernel_status) {
    return kernel_status != NOT_IMPLEMENTED && kernel_status != THE_COURSES_OWN &&
           kernel_status != ANOTHER_FUNCTION;
}

static void add_row(Work *work, File *file, const Subject *subject) {
    Judgement judgement = judge(subject);
    work->row = xrealloc(work->row, (size_t)(work->rows + 1) * sizeof *work->row);
    Row *row = &work->row[work->rows++];
    *row = (Row){file, subject->kernel, judgement.status, judgement.passed, judgement.golden.count,
                 {0}};
    memcpy(row->diagnosis, judgement.diagnosis, DIAGNOSIS);
    file->touched |= judgement.status != NOT_IMPLEMENTED;
    judgement_free(&judgement);
}

static void judge_file(Work *work, File *file) {
    const Kernel *kernel;
    Library *library = library_load(file->library, file->trouble);
    int before = work->rows;
    for (int k = 0; library && (kernel = kernel_at(k)); k++) {
        Function function = library_function(library, kernel->name);
        if (function) add_row(work, file, &(Subject){kernel, library, function});
    }
    char why[DIAGNOSIS];
    if (library && work->rows == before)
        snprintf(file->trouble, TROUBLE, "it defines no kernel of the course: %.200s",
                 hides_a_kernel(library, NULL, why) ? why : "build/verify --list names them");
    if (library) library_close(library);
}

/* Those on the command line; if there are none, every chapter's exercise. */
static Work judge_files(int count, char *names[count]) {
    Work work = {0};
    char path[PATH_MAX];
    while (count ? work.files < count : exercise_at(work.files) != NULL) work.files++;
    work.file = xmalloc((size_t)work.files * sizeof *work.file);
    for (int f = 0; f < work.files; f++) {
        File *file = &work.file[f];
        *file = (File){0};
        if (count) snprintf(path, sizeof path, "%s", names[f]);
        else snprintf(path, sizeof path, ROOT "/chapters/%s/exercise.c", exercise_at(f)->chapter);
        const char *name = count ? path : path + strlen(ROOT "/");
        file->name = as_cell(xstrndup(name, strlen(name)));
        make_library(file, path, f + 1);
        if (!file->trouble[0]) judge_file(&work, file);
    }
    return work;
}

/* ---------------------------------------------------------------- which of them the Llama takes */

/* Of each part of the Llama: the reader's kernel, NULL for ours; and which other of the reader's
 * does its work. */
typedef struct {
    const Row *row[PARTS];
    const char *instead[PARTS];
} Choice;

/* Where two files have a kernel, the later one counts. */
static Choice choose(const Work *work) {
    Choice choice = {0};
    bool has[PARTS] = {0};
    for (int r = 0; r < work->rows; r++) {
        int part = part_named(work->row[r].kernel->name);
        if (part >= 0 && is_written(work->row[r].status)) {
            choice.row[part] = &work->row[r];
            has[part] = true;
        }
    }
    resolve_overrides(has, choice.instead);
    return choice;
}

static bool is_used(const Choice *choice, int part) {
    return choice->row[part] && !choice->instead[part];
}

/* Is it in the Llama, for the reader's blocks to call even if nobody else does? */
static bool is_within(const Choice *choice, int part) {
    const char *instead = choice->instead[part];
    return choice->row[part] && (!instead || parts[part_named(instead)].covers);
}

static bool trains(int part) { return parts[part].places == IN_TRAINING; }

static bool any_is_used(const Choice *choice, bool in_training) {
    for (int p = 0; p < PARTS; p++)
        if (is_used(choice, p) && trains(p) == in_training) return true;
    return false;
}

/* In which format the reader's kernels want the weights. */
static Storage chosen_storage(const Choice *choice) {
    bool has[PARTS];
    for (int p = 0; p < PARTS; p++) has[p] = is_used(choice, p);
    return storage_for(has);
}

/* Where another of the reader's kernels does this one's work, it may do so by calling this one: by
 * its name if it is in the same file; and a block of the decoder calls what is in the table of
 * kernels. */
static void instead_text(char text[static WORDS], const Row *row, const Choice *choice) {
    const Part *part = &parts[part_named(row->kernel->name)];
    const char *instead = choice->instead[part - parts];
    int other = part_named(instead);
    bool is_block = parts[other].covers, is_beside = choice->row[other]->file == row->file;
    if (is_beside && (is_block || strcmp(instead, "cached_attention") == 0))
        snprintf(text, WORDS, "%s, where your %s calls it", part->use, instead);
    else if (is_block && part->member)
        snprintf(text, WORDS, "%s, where your %s calls d->kernels->%s", part->use, instead,
                 part->member);
    else snprintf(text, WORDS, "not needed: your %s does its work", instead);
}

/* "rotates queries and keys" */
static void use_text(char text[static WORDS], const Row *row, const Choice *choice) {
    int part = part_named(row->kernel->name);
    if (part < 0) snprintf(text, WORDS, "not needed");
    else if (!is_written(row->status)) snprintf(text, WORDS, "ours");
    else if (choice->row[part] != row)
        snprintf(text, WORDS, "not used: the one in %s is", choice->row[part]->file->name);
    else if (choice->instead[part]) instead_text(text, row, choice);
    else snprintf(text, WORDS, "%s", parts[part].use);
}

/* ------------------------------------------------------------------ the table */

static void kernel_row(Table *table, const Row *row, const Choice *choice) {
    char use[WORDS], cases[32] = "";
    if (is_written(row->status)) snprintf(cases, sizeof cases, "%d of %d", row->passed, row->cases);
    use_text(use, row, choice);
    table_row(table, "%s|%s|%s|%s|%s", row->file->name, row->kernel->name,
              row->status == NOT_IMPLEMENTED ? "not written yet" : status_name(row->status), cases,
              use);
}

static void print_table(const Work *work, const Choice *choice) {
    Table table = {0};
    table_row(&table, "file|<kernel|<verdict|cases passed|<in your Llama");
    const Row *row = work->row, *end = row + work->rows;
    for (int f = 0; f < work->files; f++) {
        const File *file = &work->file[f];
        const char *verdict = file->trouble[0] ? "no kernel" : "not written yet";
        if (!file->touched) table_row(&table, "%s||%s||ours", file->name, verdict);
        for (; row < end && row->file == file; row++)
            if (file->touched) kernel_row(&table, row, choice);
    }
    table_print(&table, stdout);
}

/* What is wrong; true if nothing is. */
static bool print_mistakes(const Work *work) {
    bool right = true;
    for (int f = 0; f < work->files; f++) {
        const File *file = &work->file[f];
        if (file->trouble[0]) {
            right = false;
            printf("%s: %s\n", file->name, file->trouble);
        }
    }
    for (int r = 0; r < work->rows; r++) {
        const Row *row = &work->row[r];
        bool wrong = is_written(row->status) && row->status != RIGHT;
        if (wrong) right = false;
        if (wrong || row->status == ANOTHER_FUNCTION)
            printf("%s, %s: %s\n", row->file->name, row->kernel->name, row->diagnosis);
    }
    return right;
}

/* ------------------------------------------------------------------ the Llama's process */

#ifdef EMULATED /* takes far longer: one story, and a short one */
enum { STORIES = 1, SEED = 163, STORY_TOKENS = 12, ANSWER_TOKENS = 12 };
#else
enum { STORIES = 5, SEED = 2, STORY_TOKENS = 60, ANSWER_TOKENS = 12 };
#endif

/* What its process tells. */
typedef struct {
    Requests underway;
    const File *loading; /* a library; NULL: none now */
    int questions, ours, right;
    double loss; /* of training */
    bool done;
} Told;

typedef struct {
    Model model;
    Tokenizer *tokenizer;
    Sentence sentence;
    int stories;
    char *text, *story[STORIES];
} Subjects;

/* Stories that the model has not seen: it was trained on other seeds. */
static Subjects open_subjects(void) {
    Subjects subjects = {.model = model_open(model_folder),
                         .tokenizer = tokenizer_open(model_folder),
                         .sentence = sentence_open()};
    char command[PATH_MAX];
    size_t length = 0;
    snprintf(command, sizeof command, "'%s/stories' --count %d --seed %d", BUILD, STORIES, SEED);
    FILE *pipe = popen(command, "r");
    if (!pipe || getdelim(&subjects.text, &length, '\0', pipe) < 0 || pclose(pipe) != 0)
        fail("cannot run %s", command);
    subjects.stories = cut(subjects.text, STORIES, subjects.story);
    return subjects;
}

static void close_subjects(Subjects *subjects) {
    sentence_close(&subjects->sentence);
    tokenizer_close(subjects->tokenizer);
    model_close(&subjects->model);
    free(subjects->text);
}

static Function function_of(const Row *row, Told *told) {
    told->loading = row->file;
    void *library =
        dlopen(row->file->library, RTLD_NOW | RTLD_LOCAL); /* once it is loaded, the same again */
    told->loading = NULL;
    return function_in(library, row->kernel->name);
}

/* Each question right after its story. */
static int examine(Examinee *examinee, const Subjects *subjects, int *questions) {
    int right = 0;
    *questions = 0;
    for (int i = 0; i < subjects->stories; i++)
        right += ask(examinee, subjects->story[i], questions);
    return right;
}

static void speak(Examinee *examinee, const char *prompt, int most, const char *ends,
                  Choose *choose) {
    fputs(prompt, stdout);
    say(examinee, prompt, most, ends, choose, stdout);
    puts("\n");
}

/* The Llama with the reader's kernels. */
static void run_yours(const Choice *choice, const Subjects *subjects, Told *told) {
    enum { CALLS = 12 }; /* in all, it has the time of so many calls that just come back */
    Function yours[PARTS] = {0};
    for (int p = 0; p < PARTS; p++)
        if (is_within(choice, p)) yours[p] = function_of(choice->row[p], told);
    told->underway.deadline = processor_seconds() + CALLS * call_time_limit;
    YourLlama llama = your_llama(&subjects->model, subjects->tokenizer, yours, &told->underway);
    let_it_merge(subjects->tokenizer);
    speak(&llama.examinee, safetensors_metadata(&subjects->sentence.file, "story"), ANSWER_TOKENS,
          ".\n", greedy);
    speak(&llama.examinee, "Once upon a time", STORY_TOKENS, "", drawn);
    told->right = examine(&llama.examinee, subjects, &told->questions);
    told->done = true;
}

/* With ours alone: by how much is it better? */
static void run_ours(const Choice *choice, const Subjects *subjects, Told *told) {
    static const Function nothing[PARTS];
    told->underway = (Requests){0};
    YourLlama llama = your_llama(&subjects->model, subjects->tokenizer, nothing, &told->underway);
    store_projections(chosen_storage(choice));
    told->ours = examine(&llama.examinee, subjects, &told->questions);
}

#ifdef EMULATED
enum { TRAINING_STEPS = 3 };
#else
enum { TRAINING_STEPS = 60 };
#endif

/* Chapter 17's small model, trained with the reader's kernels, or with ours. */
static void run_training(const Choice *choice, const Subjects *subjects, Told *told) {
    (void)subjects;
    Function yours[PARTS] = {0};
    for (int p = 0; choice && p < PARTS; p++)
        if (is_used(choice, p) && trains(p)) yours[p] = function_of(choice->row[p], told);
    told->loss = train_yours(TRAINING_STEPS, yours, &told->underway);
    told->done = true;
}

/* In a process of its own; how that ended. */
static int run_apart(void run(const Choice *, const Subjects *, Told *), const Choice *choice,
                     const Subjects *subjects, Told *told) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    int status = 0;
    fflush(NULL);
    pid_t process = fork();
    if (process < 0) fail("cannot start a process for the Llama: %s", strerror(errno));
    if (process == 0) {
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
            signal(faults[i], SIG_DFL); /* a sanitizer would make an exit of a crash */
        hide_goldens();
        use_threads(
            1); /* the model is small: threads would wait for each other more than they do */
        run(choice, subjects, told);
        fflush(stdout);
        _exit(0);
    }
    waitpid(process, &status, 0);
    sweep_after(process);
    return status;
}

/* ------------------------------------------------------------------ how it ended */

/* "in layer 0, reading tokens 0 to 12" */
static void where_text(char text[static WORDS], const Requests *now, int L) {
    char layer[32] = "before layer 0", tokens[64];
    if (now->layer == CUTTING) {
        snprintf(text, WORDS, "while it split a text into tokens");
        return;
    }
    if (now->layer == TRAINING) {
        snprintf(text, WORDS, "in step %d of training", now->first);
        return;
    }
    if (now->layer == L) snprintf(layer, sizeof layer, "after the last layer");
    else if (now->layer >= 0) snprintf(layer, sizeof layer, "in layer %d", now->layer);
    if (now->first == now->last) snprintf(tokens, sizeof tokens, "token %d", now->first);
    else snprintf(tokens, sizeof tokens, "tokens %d to %d", now->first, now->last);
    snprintf(text, WORDS, "%s, while it processed %s", layer, tokens);
}

static void print_end(const Told *told, const Choice *choice, int status, int L) {
    char what[WORDS], where[WORDS];
    const Requests *now = &told->underway;
    const char *plural = call_time_limit == 1 ? "" : "s";
    if (now->too_slow) snprintf(what, sizeof what, "is too slow: the time is up");
    else if (was_given_up(status))
        snprintf(what, sizeof what, "did not come back within %u second%s", call_time_limit,
                 plural);
    else if (WIFSIGNALED(status))
        snprintf(what, sizeof what, "crashed (%s)", strsignal(WTERMSIG(status)));
    else snprintf(what, sizeof what, "ended the program (exit status %d)", WEXITSTATUS(status));

    where_text(where, now, L);
    if (told->loading) printf("\n%s %s when it was loaded.\n", told->loading->name, what);
    else if (now->is_yours) {
        printf("\nIt ended here: your %s in %s %s, %s.\n", now->kernel,
               choice->row[part_named(now->kernel)]->file->name, what, where);
        if (now->asked)
            printf("The last kernel that it called is also yours: %s in %s.\n", now->asked,
                   choice->row[part_named(now->asked)]->file->name);
    } else if (now->kernel)
        printf(
            "\nIt ended here: the course's %s %s, %s. Has one of yours written past its arrays?\n",
            now->kernel, what, where);
}

static Told *shared_told(void) {
    Told *told =
        mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED) fail("no memory to share with the Llama's process");
    return told;
}

/* True if it came to its end, or if there is nothing to train with. */
static bool let_it_learn(const Choice *choice) {
    if (!any_is_used(choice, true)) return true;
    Told *told = shared_told();
    section("Your training");
    int status = run_apart(run_training, choice, NULL, told);
    const bool done = told->done;
    const double loss = told->loss;
    if (done) {
        run_apart(run_training, NULL, NULL, told);
        printf("After %d steps the loss of a small model is %.3f. With the course's kernels it is "
               "%.3f.\n",
               TRAINING_STEPS, loss, told->loss);
    } else print_end(told, choice, status, 0);
    munmap(told, sizeof *told);
    return done;
}

/* True if it came to its end. */
static bool let_it_speak(const Choice *choice) {
    Subjects subjects = open_subjects();
    Told *told = shared_told();
    section(any_is_used(choice, false) ? "Your Llama"
                                       : "Your Llama: so far every kernel is the course's");
    int status = run_apart(run_yours, choice, &subjects, told);
    const bool done = told->done;
    if (done) {
        told->ours = told->right;
        if (any_is_used(choice, false)) run_apart(run_ours, choice, &subjects, told);
        printf("It answers %d of %d questions about %d unseen stories correctly. With "
               "the course's kernels it is %d.\n",
               told->right, told->questions, subjects.stories, told->ours);
    } else print_end(told, choice, status, subjects.model.config.L);
    munmap(told, sizeof *told);
    close_subjects(&subjects);
    return done;
}

int main(int argc, char **argv) {
    const char *limit = "10";
    const Option options[] = {{"timeout|seconds", "N",
                               "a kernel that does not come back in time is given up: 10", &limit}};
    static const char about[] =
        "Judges the kernels in these files, or in every chapter's exercise.c, and runs a Llama "
        "with\n"
        "them in place of the course's own. Exit status 0 only if all of them are right.";
    int first = parse_options(argc, argv, "[FILE.c|FILE.so …] [options]", about, 1, options);
    call_time_limit = (unsigned)option_number("timeout", limit, 1, 3600);
    for (int f = first; f < argc; f++)
        if (access(argv[f], R_OK) != 0) usage_error("cannot read %s: %s", argv[f], strerror(errno));

    Work work = judge_files(argc - first, argv + first);
    Choice choice = choose(&work);
    section("Your kernels");
    print_table(&work, &choice);
    bool right = print_mistakes(&work), spoke = let_it_speak(&choice),
         done = let_it_learn(&choice) && spoke;
    for (int f = 0; f < work.files; f++) free(work.file[f].name);
    free(work.file);
    free(work.row);
    return right && done ? 0 : 1;
}
