#include "tests/judge/lab.h"
#include "tests/judge/own_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ calls */

enum { MOST_WORK = 1 << 27 };

Lab lab_of(const Subject *subject) {
    return (Lab){
        .subject = subject, .exact = answers_exactly(subject->kernel), .most_work = WORK_TO_FIND};
}

void lab_call(const Lab *lab, Call *call, uint64_t seed, const Extents *extents) {
    choose_extents(extents ? extents : &(Extents){0});
    lab->subject->kernel->random_call(call, &(Random){.state = seed}, extents ? CHOSEN : SMALL);
}

const char output_name[] = "out";

static const Tensor *place(const Call *call, const char *name) {
    return strcmp(name, output_name) == 0 ? &call->output : input_named(call, name);
}

size_t size_in(const Tensor *input, const Dimension *dimension) {
    if (!input) return 0;
    return dimension->rank ? input->shape[dimension->axis] : (size_t)tensor_get(input, 0);
}

/* About how many terms a call sums. */
static double work_of(const Extents *extents) {
    double work = 1, again = 1;
    for (int k = 0; k < extents->count && k < MOST_EXTENTS; k++) {
        work *= (double)extents->size[k];
        if (extents->is_squared[k]) again = fmax(again, (double)extents->size[k]);
    }
    return work * again;
}

static double numbers_of(const Call *call) {
    size_t count = tensor_count(&call->output);
    for (int i = 0; i < call->input_count; i++) count += tensor_count(&call->input[i]);
    return (double)count;
}

bool is_wrong_answer(Lab *lab, Call *call, Verdict *keep) {
    const Subject *subject = lab->subject;
    char trouble[TROUBLE];
    Run run = {.call = *call, .threads = 1, .output = call_room(call, tensor_bytes(&call->output))};
    Outcome outcome =
        run_job(subject->library, subject->function, subject->kernel->unpack, 1, &run);
    lab->is_over |= status_of(outcome.trouble) == DOES_NOT_COME_BACK;
    if (outcome.returned == 0) return true;
    OwnAnswer ours = own_answer(subject->kernel, lab->exact, false, call, trouble);
    if (!ours.bound) return lab->is_over = true;
    Tensor output = call->output;
    output.data = run.output;
    float *got = tensor_to_float(&output);
    double *truth = tensor_to_double(&ours.answer);
    bool wrong = check_bounds(tensor_count(&output), got, truth, ours.bound).wrong > 0;
    if (wrong && keep) *keep = verdict_of_random(subject->kernel, call, &ours, lab->exact, &output);
    free(got);
    free(truth);
    free(ours.bound);
    return wrong;
}

/* Calls of one kind have the same inputs and ask for the same output; their sizes may differ. */
static uint64_t kind_of(const Lab *lab, const Call *call) {
    enum { MOST_CHOICES = 5 };
    uint64_t kind = 1;
    for (int i = 0; i < call->input_count; i++) {
        const Tensor *input = &call->input[i];
        bool is_choice =
            input->rank == 0 && input->dtype == I64 && tensor_get(input, 0) <= MOST_CHOICES;
        for (int k = 0; k < lab->count; k++)
            is_choice &= strcmp(lab->dimension[k].name, input->name) != 0;
        for (const char *c = input->name; *c; c++) kind = kind * 31 + (unsigned char)*c;
        if (is_choice) kind = kind * 31 + (uint64_t)tensor_get(input, 0);
    }
    return kind;
}

Point lab_ask(Lab *lab, const Extents *extents, Verdict *keep) {
    enum { TRIES = 40 };
    Call call = {0};
    Point point = {.is_too_large = extents && work_of(extents) > lab->most_work};
    if (point.is_too_large || lab->is_over) return point;
    for (int t = 0; t < TRIES && (t == 0 || (lab->kind && point.kind != lab->kind)); t++) {
        if (t > 0) call_free(&call);
        lab_call(lab, &call, (uint64_t)++lab->calls << 20, extents);
        point.kind = kind_of(lab, &call);
    }
    point.extents = extents_drawn();
    for (int k = 0; k < lab->count; k++)
        point.size[k] = size_in(place(&call, lab->dimension[k].name), &lab->dimension[k]);
    double work = fmax(work_of(&point.extents), numbers_of(&call));
    lab->work += work;
    lab->is_over |= lab->work > MOST_WORK;
    point.is_too_large = work > lab->most_work;
    if (!point.is_too_large) point.wrong = is_wrong_answer(lab, &call, keep);
    call_free(&call);
    return point;
}

Point lab_ask_often(Lab *lab, const Extents *extents) {
    enum { TIMES = 3 };
    Point point = {0};
    for (int t = 0; t < TIMES && !point.wrong; t++) point = lab_ask(lab, extents, NULL);
    return point;
}

/* ------------------------------------------------------------------ what the dimensions are called
 */

/* Where an input is larger, or its number, if one extent is larger by one: that extent's bit is
 * set. The last place of each input is for its number; and after the inputs comes the output, in
 * place of bytes that the kernel has no dimension for. */
typedef unsigned Changes[CALL_MAX_INPUTS + 1][TENSOR_MAX_RANK + 1];

static const Tensor *place_at(const Call *call, int i) {
    return i < call->input_count ? &call->input[i] : &call->output;
}

static void note_changes(const Call *one, const Call *next, unsigned bit, Changes changes) {
    for (int i = 0; i <= one->input_count; i++) {
        const Tensor *a = place_at(one, i), *b = place_at(next, i);
        for (int axis = 0; axis < a->rank && a->dtype != U8; axis++)
            if (a->shape[axis] != b->shape[axis]) changes[i][axis] |= bit;
        bool counts = a->rank == 0 && a->dtype == I64;
        if (counts && tensor_get(b, 0) == tensor_get(a, 0) + 1) changes[i][TENSOR_MAX_RANK] |= bit;
    }
}

/* The place that fewest other extents change. */
static Dimension dimension_of(const Call *one, const Call *next, unsigned bit, Changes changes) {
    Dimension found = {0};
    int fewest = MOST_EXTENTS + 1;
    for (int i = 0; i <= one->input_count; i++)
        for (int axis = 0; axis <= TENSOR_MAX_RANK; axis++) {
            const Tensor *a = place_at(one, i), *b = place_at(next, i);
            int others = __builtin_popcount(changes[i][axis]);
            if (!(changes[i][axis] & bit) || others >= fewest) continue;
            fewest = others;
            found = (Dimension){.axis = axis, .rank = a->rank};
            snprintf(found.name, sizeof found.name, "%s", a->name);
            found.unit = size_in(b, &found) - size_in(a, &found);
        }
    return found;
}

void name_dimensions(Lab *lab) {
    enum { SEED = 7 };
    Changes changes = {0};
    Call one = {0}, next = {0};
    lab_call(lab, &one, SEED, NULL);
    const Extents extents = extents_drawn();
    lab->count = extents.count < MOST_EXTENTS ? extents.count : MOST_EXTENTS;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < lab->count; k++) {
            Extents larger = extents;
            larger.size[k]++;
            lab_call(lab, &next, SEED, &larger);
            if (pass == 0) note_changes(&one, &next, 1u << k, changes);
            else lab->dimension[k] = dimension_of(&one, &next, 1u << k, changes);
            call_free(&next);
        }
    call_free(&one);
}
