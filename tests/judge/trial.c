#include "tests/judge/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static Run *add_run(Trial *trial, const Call *call, Run run) {
    Run *added = &trial->runs[trial->count++];
    *added = run;
    added->call = *call;
    added->is_long = trial->is_long;
    added->output = call_room(trial->call, tensor_bytes(&call->output));
    return added;
}

static void run_again(Trial *trial) {
    const Subject *subject = trial->subject;
    trial->outcome = run_job(subject->library, subject->function, subject->kernel->unpack,
                             trial->count, trial->runs);
}

static int first_run(const Trial *trial) { return trial->before || trial->other_before ? 1 : 0; }

static Tensor output_of(const Run *run) {
    Tensor output = run->call.output;
    output.data = run->output;
    return output;
}

void trial_run(Trial *trial) {
    static const Run circumstances[] = {
        {.threads = 1}, {.threads = 2, .at_end = true}, {.threads = 5, .ordinary = true}};
    if (trial->other_before) add_run(trial, trial->call, (Run){.threads = 1, .other = true});
    else if (trial->before) add_run(trial, trial->before, (Run){.threads = 1});
    /* A long call that begins many parallel loops is slow with threads: once is enough. */
    for (int r = 0; r < 3; r++)
        if (!trial->is_long || r != 1) add_run(trial, trial->call, circumstances[r]);
    for (int i = 0; i < 2 && trial->subject->kernel->in_place[i]; i++)
        add_run(trial, trial->call,
                (Run){.threads = 1, .in_place = trial->subject->kernel->in_place[i]});
    if (trial->many_threads) add_run(trial, trial->call, (Run){.threads = MANY_THREADS});
    for (int threads = 2; trial->meets && threads <= FEW_THREADS; threads += 2)
        add_run(trial, trial->call, (Run){.threads = threads, .meets = true});
    if (trial->many_times) add_run(trial, trial->call, (Run){.threads = 2, .times = MANY_TIMES});
    run_again(trial);
    if (trial->outcome.returned > first_run(trial))
        trial->first = output_of(&trial->runs[first_run(trial)]);
}

const char *trial_trouble(const Trial *trial) {
    return trial->first.data ? "" : trial->outcome.trouble;
}

/* ---------------------------------------------------------- what does it take to make it wrong? */

/* True if call r is right; otherwise `what` says what happened. */
static bool is_right(const Trial *trial, int r, char what[static WORDS]) {
    const Outcome *outcome = &trial->outcome;
    if (r >= outcome->returned) return snprintf(what, WORDS, "%s", outcome->trouble), false;
    Tensor output = output_of(&trial->runs[r]);
    if (!trial->is_right(trial->truth, &output, what)) return false;
    bool complained = outcome->complaint[0] && outcome->complained == r;
    if (complained) snprintf(what, WORDS, "%s", outcome->complaint);
    return !complained;
}

/* The same input under these circumstances alone: is the last answer right? */
static bool right_under(const Trial *trial, int count, const Run circumstances[]) {
    char what[WORDS];
    Trial other = {.subject = trial->subject,
                   .call = trial->call,
                   .is_right = trial->is_right,
                   .truth = trial->truth,
                   .is_long = trial->is_long};
    for (int r = 0; r < count; r++) add_run(&other, trial->call, circumstances[r]);
    run_again(&other);
    return is_right(&other, count - 1, what);
}

/* In what is the call that went wrong other than those before it, which went well? */
static const char *circumstance(const Trial *trial, int r) {
    static char words[WORDS];
    const Run *run = &trial->runs[r];
    if (r == first_run(trial) && !right_under(trial, 1, run)) return "";
    if (r == first_run(trial))
        return trial->other_before ? "right by itself, wrong after other numbers in the same arrays"
                                   : "right by itself, wrong after another shape";
    if (run->in_place)
        return snprintf(words, sizeof words, "right, but not in place (out may be %s)",
                        run->in_place),
               words;
    if (!right_under(trial, 2, (const Run[]){{.threads = 1}, {.threads = 1}}))
        return "right the first time, wrong the second";
    if (!right_under(trial, 1, &(Run){.threads = 1, .at_end = true}))
        return strstr(trial->outcome.trouble, "as if its arrays were aligned")
                   ? ""
                   : "right on arrays that begin on a page, wrong on others";
    if (run->ordinary && !right_under(trial, 1, &(Run){.threads = 1, .ordinary = true}))
        return "right where out is NaN before the call, wrong where it holds ordinary numbers";
    if (run->times)
        return snprintf(words, sizeof words, "right at first, wrong after %d calls", run->times),
               words;
    return snprintf(words, sizeof words, "right with 1 thread, wrong with %d", run->threads), words;
}

static bool out_of_bounds(const char *trouble) {
    return strstr(trouble, "out of bounds") || strstr(trouble, "overran: ") ||
           strstr(trouble, "wrote to its input ");
}

const char *trial_advice(const char *deviation) {
    static const char below_0[] =
        "An index is below 0 there. Where something is subtracted from it, such as the first of a "
        "part, ask first whether it lies in the part at all.";
    static const char *const known[][2] = {
        {"right the first time, wrong the second",
         "Something is kept from the call before: a static variable, or memory that is not set "
         "anew."},
        {"wrong after other numbers", "Something is kept from the call before, and "
                                      "taken for current where the arrays lie in the "
                                      "same place."},
        {"right where out is NaN before the call",
         "It reads out before it writes there: what out holds before the call is nothing that a "
         "kernel may ask for."},
        {"right at first, wrong after",
         "It counts its calls, or fills up something that it keeps from call to call."},
        {"leaves another rounding mode",
         "Whoever calls next computes with it. Put back what was there before."},
        {"in flush-to-zero mode",
         "Whoever calls next computes with it. Put back what was there before."},
        {"a handler for SIGSEGV", "A kernel handles no signals: put back what was there before."},
        {"right by itself, wrong after another shape",
         "Something is kept from the call before: room, or a table, that is made once and for one "
         "shape."},
        {"right with 1 thread, wrong with", "Do two threads write to one place, or is there room "
                                            "for fewer of them, or work that is no thread's?"},
        {"right, but not in place", "The contract lets the output lie over this input: read an "
                                    "element before you write it, and never again."},
        {"right on arrays that begin on a page",
         "It takes an array's alignment, or the memory around it, for granted."},
        {" bytes before ", below_0},
        {"out of bounds: before ", below_0},
        {"overran: wrote ", "A loop goes on behind the end: are vectors, or blocks of threads, "
                            "whole where only a part of the last is left?"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(deviation, known[i][0])) return known[i][1];
    return NULL;
}

bool trial_deviates(const Trial *trial, bool first_is_right, char say[static WORDS]) {
    char what[WORDS];
    int from = first_run(trial), r = from;
    if (out_of_bounds(trial->outcome.trouble))
        return snprintf(say, WORDS, "%s", trial->outcome.trouble), true;
    if (!first_is_right) return false;
    while (r < trial->count && is_right(trial, r, what)) r++;
    if (r == trial->count) return false;
    bool complained = trial->outcome.complaint[0] && trial->outcome.complained == r;
    const char *how = complained ? "" : circumstance(trial, r);
    return snprintf(say, WORDS, "%.240s%s%.140s", how, *how ? ": " : "", what), true;
}
