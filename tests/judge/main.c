/* verify: is this kernel right, and if not, which mistake is it? See README.md, beside this file.
 */
#include "12_speed/machine_limits.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"
#include "common/timer.h"
#include "tests/judge/as_json.h"
#include "tests/judge/exercises.h"
#include "tests/judge/mistakes.h"
#include "tests/judge/outputs.h"
#include "tests/judge/signature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef OURS
#define OURS(kernel) (kernel)->ours
#endif

static const Kernel *kernel_or_fail(const char *name) {
    const Kernel *kernel = name ? kernel_named(name) : NULL;
    if (!name) fail("name a kernel first: build/verify --list names them");
    if (!kernel) fail("%s is no kernel of this course: build/verify --list names them", name);
    return kernel;
}

/* ------------------------------------------------------------------ --json */

/* With --json an array, an entry a kernel, which takes the place of the report; NULL without. What
 * a kernel prints goes to standard error then: the document is alone on standard output. */
static json_t *document;
static int standard_output;

static void document_open(void) {
    document = json_array();
    standard_output = dup(STDOUT_FILENO);
    if (standard_output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        fail("--json: standard output cannot be kept for the document");
}

static void document_close(void) {
    if (!document) return;
    fflush(stdout);
    dup2(standard_output, STDOUT_FILENO);
    json_dumpf(document, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(7));
    putchar('\n');
    json_decref(document);
}

/* ------------------------------------------------------------------ what there is to judge */

/* Inputs that are no parameters of the kernel, for who computes elsewhere. */
static const struct {
    const char *kernel, *input, *words; /* kernel NULL: any */
} explained[] = {
    {"adamw", "of", "which array is the output: 0 weight, 1 m, 2 v"},
    {"muon", "of", "which array is the output: 0 weight, 1 m"},
    {"clip_gradient", "of_norm",
     "1: the output is the norm that is returned, and not the gradient"},
    {"clip_gradient", "sizes", "the arrays' lengths: they lie one after the other in gradient"},
    {"flash_attention_lse", "of_out", "1: the output is out, [T][H D], and not lse"},
    {"feed_forward", "activation", "0 relu, 1 gelu, 2 silu"},
    {"gated_feed_forward", "unit", "0 glu, 1 bilinear, 2 reglu, 3 geglu, 4 swiglu"},
    {"activation_backward", "derivative", "of which activation: 0 relu, 1 gelu, 2 silu"},
    {"learning_rate", "at", "the steps: the output has a rate for each"},
    {"attention_block", "interleaved", "1: the model's pairs are (2i, 2i + 1)"},
    {NULL, "alone", "the other gradients are NULL"},
    {NULL, "split", "the text comes in two pieces, of which the second begins there; 0: in one"},
    {NULL, "other", "rows that another layer is given between the two pieces"},
    {NULL, "ranks", "how many ranks there are"},
    {NULL, "rank", "the rank whose part is asked for"},
};

static bool has_input(const Golden *golden, const char *name) {
    for (int c = 0; c < golden->count; c++)
        if (golden_input(&golden->cases[c], name)) return true;
    return false;
}

static void list_inputs(const Golden *golden) {
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++)
        if ((!explained[i].kernel || strcmp(explained[i].kernel, golden->kernel) == 0) &&
            has_input(golden, explained[i].input))
            printf("Input %s: %s.\n", explained[i].input, explained[i].words);
}

static void list_cases(const Golden *golden) {
    Table table = {0};
    table_row(&table, "case|<output|<what it tries");
    for (int c = 0; c < golden->count; c++) {
        char shape[SHAPE_TEXT];
        const GoldenCase *one = &golden->cases[c];
        table_row(&table, "%s|%s|%s", one->name,
                  shape_text(shape, one->expected.rank, one->expected.shape), one->sentence);
    }
    table_print(&table, stdout);
    list_inputs(golden);
}

static void list_mistakes(const Golden *golden) {
    char does[MISTAKE_TEXT], advice[MISTAKE_TEXT];
    int count, width = 0;
    const char **names = known_mistakes(golden, &count);
    for (int m = 0; m < count; m++)
        if ((int)strlen(names[m]) > width) width = (int)strlen(names[m]);
    for (int m = 0; m < count; m++) {
        mistake_texts(golden, names[m], does, advice);
        printf("%-*s   %s\n", width, names[m], does);
        if (advice[0]) printf("%-*s   %s\n", width, "", advice);
    }
    printf("%d known mistakes of %s\n", count, golden->kernel);
    free(names);
}

/* Prints one kernel's cases or mistakes, or has them in the document. */
static void tell_of(const Kernel *kernel, void print(const Golden *),
                    json_t *as_json(const Kernel *, const Golden *)) {
    Golden golden = golden_open(kernel->name);
    if (document) json_array_append_new(document, as_json(kernel, &golden));
    else print(&golden);
    golden_close(&golden);
}

static void list_kernels(void) {
    Table table = {0};
    table_row(&table, "kernel|<contract|cases|mistakes known");
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        Golden golden = golden_open(kernel->name);
        int mistakes;
        free(known_mistakes(&golden, &mistakes));
        if (document) json_array_append_new(document, kernel_as_json(kernel, &golden));
        table_row(&table, "%s|%s|%d|%d", kernel->name, kernel->chapter, golden.count, mistakes);
        golden_close(&golden);
    }
    if (!document) table_print(&table, stdout);
}

/* ------------------------------------------------------------------ judging */

static KernelStatus judge_subject(const Subject *subject, const char *source) {
    Judgement judgement = judge(subject);
    if (document) json_array_append_new(document, judgement_as_json(&judgement, source));
    else judgement_print(&judgement, source);
    judgement_free(&judgement);
    return judgement.status;
}

/* The case that a .npy file answers: the one that was named, or the only one of its shape. */
static const GoldenCase *single_case(const Golden *golden, const Tensor *single, const char *name) {
    if (name) return golden_case(golden, name);
    const GoldenCase *found = NULL;
    for (int c = 0; c < golden->count; c++) {
        if (!same_shape(&golden->cases[c].expected, single)) continue;
        if (found)
            fail("a .npy file answers one case, and both %s and %s have its shape: add --case NAME",
                 found->name, golden->cases[c].name);
        found = &golden->cases[c];
    }
    if (!found) fail("a .npy file answers one case, and none has its shape: add --case NAME");
    return found;
}

/* A file that answers no case has other names, and one of them shows which. */
static void check_names(const Golden *golden, const SafeTensors *file, const char *path) {
    for (int c = 0; c < golden->count; c++)
        if (safetensors_find(file, golden->cases[c].name)) return;
    fail("%s: it has %s, and a tensor is to be named as its case is: build/verify %s --list names "
         "them",
         path, file->count ? file->tensors[0].name : "nothing", golden->kernel);
}

static bool judge_outputs(const Kernel *kernel, const char *path, const char *case_name,
                          bool only_given) {
    Golden golden = golden_open(kernel->name);
    Outputs outputs = outputs_open(path);
    Verdict *verdicts = xmalloc((size_t)golden.count * sizeof *verdicts);
    int count = 0;
    if (outputs.single.name) {
        verdicts[count++] = verdict_of_output(
            kernel, single_case(&golden, &outputs.single, case_name), &outputs.single);
    } else {
        check_names(&golden, &outputs.file, path);
        for (int c = 0; c < golden.count; c++) {
            const GoldenCase *one = &golden.cases[c];
            const Tensor *given = safetensors_find(&outputs.file, one->name);
            if (case_name && strcmp(case_name, one->name) != 0) continue;
            if (only_given && !given) continue;
            verdicts[count++] = verdict_of_output(kernel, one, given);
        }
        if (count == 0) golden_case(&golden, case_name); /* says that there is no such case */
    }
    bool pass = true;
    for (int i = 0; i < count; i++) pass &= verdict_passes(&verdicts[i]);
    if (document)
        json_array_append_new(document, verdicts_as_json(kernel, &golden, path, count, verdicts));
    else report(kernel, &golden, path, count, verdicts);
    if (!document && only_given && count < golden.count)
        printf("%d of %d cases were not given, and not judged.\n", golden.count - count,
               golden.count);
    for (int i = 0; i < count; i++) verdict_free(&verdicts[i]);
    free(verdicts);
    outputs_close(&outputs);
    golden_close(&golden);
    return pass;
}

/* The name of a library in a report: mine.so, or the source that `make verify` compiled it from. */
static char *source_name(const char *library) {
    const char *slash = strrchr(library, '/'), *name = slash ? slash + 1 : library;
    return xstrndup(name, strlen(name) - (name_ends_in(name, ".c.so") ? strlen(".so") : 0));
}

/* ------------------------------------------------------------------ timing */

static size_t bytes_moved(const Call *call) {
    size_t bytes = tensor_bytes(&call->output);
    for (int i = 0; i < call->input_count; i++) bytes += tensor_bytes(&call->input[i]);
    return bytes;
}

/* What was timed is to be the work: so large a call was not judged before. Another order of sums
 * over thousands changes a number by less than a thousandth of its row's largest, and at a border
 * that rounding moves, such as the most likely tokens', one number in a thousand. */
static bool is_the_answer(const Tensor *output, const Tensor *ours) {
    size_t count = tensor_count(ours), strays = 0,
           row = ours->rank ? ours->shape[ours->rank - 1] : 1;
    for (size_t start = 0; start < count; start += row) {
        double largest = 0;
        for (size_t i = start; i < start + row; i++)
            if (isfinite(tensor_get(ours, i))) largest = fmax(largest, fabs(tensor_get(ours, i)));
        for (size_t i = start; i < start + row; i++) {
            double got = tensor_get(output, i), right = tensor_get(ours, i);
            strays += got != right && !(fabs(got - right) <= largest / 1000) &&
                      !(isnan(got) && isnan(right));
        }
    }
    return strays <= count / 1000;
}

/* One kernel's work and time at one size. The time is NaN if it did not come to an end. */
typedef struct {
    double seconds, bytes, operations;
    double ours; /* the time of the course's own on the same call, where a reader's is timed */
} Timing;

static Timing time_kernel(const Subject *subject, Size size, char trouble[static TROUBLE]) {
    const Kernel *kernel = subject->kernel;
    Random random = {.state = 1};
    Call call = {0};
    char ignored[TROUBLE];
    kernel->random_call(&call, &random, size);
    size_t bytes = (size_t)bytes_moved(&call);
    Tensor output = call.output, ours = call.output;
    output.data = call_room(&call, tensor_bytes(&output));
    Timing timing = {time_call(subject->library, subject->function, kernel->unpack, &call,
                               (void *)output.data, trouble),
                     (double)bytes, kernel->operations ? kernel->operations(&call) : 0, NAN};
    if (subject->library && !isnan(timing.seconds)) {
        ours.data = call_room(&call, tensor_bytes(&ours));
        timing.ours =
            time_call(NULL, OURS(kernel), kernel->unpack, &call, (void *)ours.data, ignored);
        if (!isnan(timing.ours) && !is_the_answer(&output, &ours)) {
            timing.seconds = NAN;
            snprintf(trouble, TROUBLE,
                     "its answer is wrong at this size, and is right only at those that it was "
                     "judged at");
        }
    }
    call_free(&call);
    return timing;
}

/* "61 %"; over 100 % something is other than it should be. */
static void doubtful_share(char text[static 64], double share, const char *doubt) {
    snprintf(text, 64, "%.0f %%%s", 100 * share, share > 1 ? doubt : "");
}

/* -------------------------------------------------------- the kernels that a command line means */

enum { MAX_KERNELS = 128 };

/* The named kernel or all of them; from the library, or else our own. Returns how many. */
static int choose(Subject chosen[], const char *name, Library *library, const char *library_path) {
    const Kernel *only = name ? kernel_or_fail(name) : NULL, *kernel;
    int count = 0;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        if (only && kernel != only) continue;
        Function function = library ? library_function(library, kernel->name) : OURS(kernel);
        if (!function) continue;
        if (count == MAX_KERNELS) fail("more than %d kernels: raise MAX_KERNELS", MAX_KERNELS);
        chosen[count++] = (Subject){kernel, library, function};
    }
    char why[DIAGNOSIS];
    if (count == 0)
        fail("%s defines no %s: %s", library_path, name ? name : "kernel of this course",
             hides_a_kernel(library, only, why)
                 ? why
                 : "build/verify --list names the kernels, the chapters' headers their signatures");
    return count;
}

/* Fewer bytes are read from a cache, where the memory's bandwidth is no limit. The bandwidth is
 * that of reading so much again and again: where a part of it stays in the cache, the limit is so
 * much higher. */
enum { LEAST_SHARE = SOME_MEMORY / 4 };

static void bench_row(Table *table, const Subject *subject, Size size, double bandwidth,
                      double peak) {
    const Kernel *kernel = subject->kernel;
    const char *name = kernel->name, *at = size == LARGE_PREFILL ? ", prefill" : "";
    char of_bandwidth[64] = "", of_peak[64] = "", beside[64] = "", trouble[TROUBLE];
    Timing timing = time_kernel(subject, size, trouble);
    /* A plain kernel may be too slow for a long text, and the others are timed all the same. */
    if (isnan(timing.seconds)) {
        bool late = status_of(trouble) == DOES_NOT_COME_BACK;
        table_row(table, "%s%s %s%s", name, at, trouble,
                  late ? ": --timeout N gives it more time" : "");
        return;
    }
    if (timing.bytes >= LEAST_SHARE)
        doubtful_share(of_bandwidth, timing.bytes / timing.seconds / bandwidth,
                       " (a cache has some of it, or not all is read)");
    if (timing.operations)
        doubtful_share(of_peak, timing.operations / timing.seconds / peak,
                       " (is some of the work left out?)");
    if (!isnan(timing.ours))
        snprintf(beside, sizeof beside, "%.2f|%.2f×", timing.ours * 1e3,
                 timing.ours / timing.seconds);
    table_row(table, "%s%s|%.3g|%s|%s|%s", name, at, timing.seconds * 1e3, of_bandwidth, of_peak,
              beside);
}

static double read_some(int threads) { return read_bandwidth(threads, LEAST_SHARE); }

/* Every byte of the inputs and the output counts once, whatever the kernel does with it. */
static void bench(int count, const Subject chosen[]) {
    int threads = thread_count();
    double bandwidth = measure_apart(read_some, threads), peak = measure_apart(fma_peak, threads);
    printf("%d thread%s: memory is read at %.1f GB/s, FMA peak is %.0f GFLOP/s. (What is under %d "
           "MB has no share of the bandwidth: a cache may have room for it.)\n",
           threads, threads == 1 ? "" : "s", bandwidth / 1e9, peak / 1e9, LEAST_SHARE >> 20);
    Table table = {0};
    bool readers = count && chosen[0].library;
    table_row(&table, "kernel|milliseconds|of read bandwidth|of FMA peak%s",
              readers ? "|the chapter's|speed beside it" : "|");
    for (int i = 0; i < count; i++) {
        bench_row(&table, &chosen[i], LARGE, bandwidth, peak);
        if (chosen[i].kernel->has_prefill)
            bench_row(&table, &chosen[i], LARGE_PREFILL, bandwidth, peak);
    }
    table_print(&table, stdout);
}

/* Are all of them right? */
static bool judge_all(int count, const Subject chosen[], const char *source) {
    int passed = 0, judged = 0;
    for (int i = 0; i < count; i++) {
        if (i && !document) putchar('\n');
        KernelStatus kernel_status =
            judge_subject(&chosen[i], source ? source : chosen[i].kernel->chapter);
        passed += kernel_status == RIGHT;
        judged += kernel_status != ANOTHER_FUNCTION;
    }
    if (judged > 1 && !document) printf("\n%d of %d kernels pass\n", passed, judged);
    return passed == judged && judged > 0;
}

/* Beside what was found there may be what nobody can find. */
static void tell_hidden(int count, const Subject chosen[], const Library *library) {
    const char *messages = library_messages(library);
    const Kernel *kernel;
    char say[DIAGNOSIS];
    for (int k = 0, found = 0; messages && (kernel = kernel_at(k)); k++)
        if (found < count && chosen[found].kernel == kernel) found++;
        else if (is_hidden(messages, kernel, say)) {
            if (document) json_array_append_new(document, hidden_as_json(kernel, say));
            else printf("\nNot judged: %s.\n", say);
        }
}

static void export_inputs_of(const char *name, const char *path) {
    Golden golden = golden_open(kernel_or_fail(name)->name);
    export_inputs(&golden, path);
    golden_close(&golden);
}

int main(int argc, char **argv) {
    const char *library = NULL, *outputs = NULL, *one_case = NULL, *inputs = NULL, *timed = NULL,
               *listed = NULL, *mistakes = NULL, *json = NULL, *number = NULL, *given = NULL,
               *limit = "10";
    const Option options[] = {
        {"list", NULL,
         "name the kernels, or the cases of one and its inputs that are no parameters", &listed},
        {"mistakes", NULL, "name the known mistakes of one, and what to do instead", &mistakes},
        {"json", NULL, "print verdicts, --list or --mistakes as one JSON document", &json},
        {"library", "FILE.so", "judge the kernels that this shared library defines", &library},
        {"exercise", "NN", "with --library: how far chapter NN's exercise is, and what to do next",
         &number},
        {"timeout|seconds", "N",
         "give a case up that takes longer, and a kernel whose cases do; 10 if not given", &limit},
        {"export-inputs|export", "FILE",
         "write the kernel's inputs as safetensors, to be answered elsewhere", &inputs},
        {"check-outputs|outputs", "FILE|-",
         "judge outputs: safetensors with a tensor a case, or .npy", &outputs},
        {"case", "NAME", "with --check-outputs: judge this case alone", &one_case},
        {"only-given", NULL, "with --check-outputs: judge the cases that are there, and no others",
         &given},
        {"bench", NULL,
         "time them beside the machine's read bandwidth; a library's, if right, beside ours",
         &timed},
    };
    int rest = parse_options(argc, argv, "[KERNEL] [options]",
                             "Judges a kernel against PyTorch's golden values and names the "
                             "mistake. Without options, the\n"
                             "course's own. Exit status 0 only if every case passes.",
                             11, options);
    const char *name = rest < argc ? argv[rest] : NULL;
    if (rest + 1 < argc) usage_error("%s: one kernel at a time", argv[rest + 1]);
    if (given && !outputs) usage_error("--only-given goes with --check-outputs");
    if ((outputs && library) || (one_case && !outputs))
        usage_error(one_case ? "--case goes with --check-outputs"
                             : "--check-outputs or --library, not both");
    call_time_limit = (unsigned)option_number("timeout", limit, 1, 3600);
    if (number && (!library || name))
        usage_error("--exercise goes with --library, and with no kernel's name");

    if (!!listed + !!mistakes + !!inputs + !!outputs + !!number + !!timed > 1)
        usage_error("--list, --mistakes, --export-inputs, --check-outputs, --exercise, --bench: "
                    "one of them at a time");
    if (json && (inputs || number || timed))
        usage_error("--json goes with a verdict, --list and --mistakes");
    if (json) document_open();

    if (mistakes) tell_of(kernel_or_fail(name), list_mistakes, mistakes_as_json);
    else if (listed && name) tell_of(kernel_or_fail(name), list_cases, cases_as_json);
    else if (listed) list_kernels();
    if (mistakes || listed) return document_close(), 0;
    if (inputs) return export_inputs_of(name, inputs), 0;
    if (outputs) {
        bool pass = judge_outputs(kernel_or_fail(name), outputs, one_case, given != NULL);
        return document_close(), pass ? 0 : 1;
    }

    char *source = library ? source_name(library) : NULL;
    Library *opened = library ? library_open(library) : NULL;
    if (number) {
        bool is_wrong = !show_progress(exercise_numbered(number), opened, source);
        return library_close(opened), free(source), is_wrong ? 1 : 0;
    }
    Subject chosen[MAX_KERNELS];
    int count = choose(chosen, name, opened, library);
    if (timed && !library) return bench(count, chosen), 0;
    bool right = judge_all(count, chosen, source);
    if (opened && !name) tell_hidden(count, chosen, opened);
    free(source);
    if (timed && right) bench(count, chosen); /* only what is right is worth timing */
    if (opened) library_close(opened);
    document_close();
    return right ? 0 : 1;
}
