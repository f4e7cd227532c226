/* train: a Llama from nothing. Each step reads a batch, finds out which way is down, and goes
 * there; on the way it keeps what would be lost otherwise, measures, and shows how far it is. */
#include "16_backward/backward.h"
#include "17_training/optimizer.h"
#include "17_training/report.h"
#include "17_training/sample.h"
#include "17_training/setup.h"
#include "common/error.h"
#include "common/output.h"
#include "common/timer.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ a step */

/* AdamW, in pieces that the threads share: what happens to a weight depends on no other. */
static void adamw_in_pieces(Run *run, size_t first, size_t count, float rate, float decay) {
    enum { PIECE = 1 << 14 };
    const TrainConfig *r = &run->recipe;
    const State *s = &run->state;
#pragma omp parallel for
    for (size_t n = 0; n < count; n += PIECE) {
        size_t at = first + n;
        adamw(count - n < PIECE ? count - n : PIECE, s->weights.numbers + at, s->m.numbers + at,
              s->v.numbers + at, run->gradients.numbers + at, s->step, rate, r->beta1, r->beta2,
              r->eps, decay);
    }
}

/* The offset of tensor i in the array of all weights. */
static size_t first_of(const Parameters *p, int i) {
    return (size_t)((const float *)p->tensors[i].data - p->numbers);
}

static float decay_of(const Run *run, const Tensor *tensor) {
    return uses_weight_decay(tensor) ? run->recipe.weight_decay : 0;
}

static bool goes_by_muon(const Run *run, const Tensor *tensor) {
    return run->recipe.muon_lr > 0 && uses_muon(tensor);
}

/* Muon's rate keeps its proportion to AdamW's. */
static void step_of_muon(Run *run, int i, float rate) {
    const float momentum = 0.95f;
    const State *s = &run->state;
    const Tensor *tensor = &s->weights.tensors[i];
    size_t first = first_of(&s->weights, i);
    muon_with(run->kernels->linear, (int)tensor->shape[0], (int)tensor->shape[1],
              (void *)(s->weights.numbers + first), (void *)(s->m.numbers + first),
              (void *)(run->gradients.numbers + first),
              rate * (run->recipe.muon_lr / run->recipe.lr), momentum, decay_of(run, tensor));
}

/* Each tensor by itself. The threads take whole matrices that go by Muon, and pieces of what goes
 * by AdamW. */
static void optimizer_step(Run *run, float rate) {
    const Parameters *w = &run->state.weights;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < w->tensor_count; i++)
        if (goes_by_muon(run, &w->tensors[i])) step_of_muon(run, i, rate);
    for (int i = 0; i < w->tensor_count; i++)
        if (!goes_by_muon(run, &w->tensors[i]))
            adamw_in_pieces(run, first_of(w, i), tensor_count(&w->tensors[i]), rate,
                            decay_of(run, &w->tensors[i]));
}

/* The sum of what each rank has, in double and in the order of the ranks: it is the same on all. */
static double sum_of_ranks(const Run *run, double own) {
    double each[run->ranks.count], sum = 0;
    gather_ranks(sizeof own, &own, each);
    broadcast_bytes(sizeof each, each);
    for (int r = 0; r < run->ranks.count; r++) sum += each[r];
    return sum;
}

/* Ends the run before a NaN or an infinity reaches the weights; the saved checkpoint stays. All
 * ranks see it; the first reports it and ends the others. */
static void require_numbers(const Run *run, double loss, double norm) {
    if (isfinite(loss) && isfinite(norm)) return;
    while (run->ranks.rank > 0) pause();
    double which = isfinite(loss) ? norm : loss;
    fail("step %d: the %s is %s: a lower --lr, a longer --warmup or a smaller --max-grad-norm may "
         "help; what was saved is as it was",
         run->state.step, isfinite(loss) ? "gradients' norm" : "loss",
         isnan(which) ? "not a number" : "infinite");
}

/* Each rank takes a part of the batch. The part weighs as much as its targets count among all of
 * the batch, and what the ranks find is added up in their order: so several processes compute what
 * one does with the whole batch, to rounding. */
static double gradients_of_batch(Run *run) {
    const size_t T = (size_t)run->recipe.seq_len, first = (size_t)run->part.first * T;
    Batch part = {run->part.count, run->ids + first, run->targets + first,
                  run->loss_weight + first};
    double all =
        sum_loss_weights((size_t)run->recipe.batch_size * T, run->targets, run->loss_weight);
    double own = sum_loss_weights((size_t)run->part.count * T, part.targets, part.loss_weight),
           share = own / all, loss = 0;
    if (own > 0)
        loss = share *
               batch_backward(&run->workers, &run->state.weights, &run->gradients, part, share);
    all_reduce_sum(run->gradients.count, run->gradients.numbers);
    return sum_of_ranks(run, loss);
}

static Row step(Run *run) {
    const TrainConfig *r = &run->recipe;
    State *s = &run->state;
    double start = seconds();
    mixture_next(&run->data, r->batch_size, (void *)run->ids, (void *)run->targets,
                 (void *)run->loss_weight);
    s->step++;
    memset(run->gradients.numbers, 0, run->gradients.count * sizeof *run->gradients.numbers);
    double loss = gradients_of_batch(run);
    double norm = clip_gradient(1, &run->gradients.count, &run->gradients.numbers,
                                r->max_grad_norm > 0 ? r->max_grad_norm : INFINITY);
    require_numbers(run, loss, norm);
    float rate = learning_rate(s->step, r->warmup, r->steps, r->lr, r->min_lr);
    optimizer_step(run, rate);
    double took = seconds() - start;
    s->seconds += took;
    return (Row){.step = s->step,
                 .loss = loss,
                 .norm = norm,
                 .rate = rate,
                 .seconds = took,
                 .validation = NAN};
}

/* ------------------------------------------------------------------ between two steps */

/* The mean over all targets of the validation file, a batch at a time; each rank has every n-th
 * batch. */
static double validate(Run *run) {
    const size_t B = (size_t)run->recipe.batch_size, T = (size_t)run->recipe.seq_len;
    const Source *source = &run->eval_data.sources[0];
    double sum = 0, all = 0;
    for (size_t s = (size_t)run->ranks.rank * B; s < source->count;
         s += (size_t)run->ranks.count * B) {
        size_t n = source->count - s < B ? source->count - s : B;
        for (size_t b = 0; b < n; b++)
            mixture_sequence(&run->eval_data, source, s + b, run->ids + b * T, run->targets + b * T,
                             run->loss_weight + b * T);
        double counted = sum_loss_weights(n * T, run->targets, run->loss_weight);
        Batch batch = {(int)n, run->ids, run->targets, run->loss_weight};
        sum += counted * batch_loss(&run->workers, &run->state.weights, batch);
        all += counted;
    }
    sum = sum_of_ranks(run, sum);
    all = sum_of_ranks(run, all);
    return sum / all;
}

/* Whether it is time for what is done every so many steps, and behind the last; 0 is never. */
static bool due(int every, const Run *run) {
    return every && (run->state.step % every == 0 || run->state.step == run->recipe.steps);
}

static void save(const Run *run, uint64_t fingerprint) {
    checkpoint_save(run->recipe.out, &run->state, &run->recipe, fingerprint);
    folder_save_model(run->recipe.out, &run->state.weights, run->dtype);
}

/* The loop of the ranks after 0: they have the same weights, to the bit, and print nothing. */
static void train_on(Run *run) {
    while (run->state.step < run->recipe.steps) {
        step(run);
        if (due(run->recipe.eval_every, run)) validate(run);
    }
}

static volatile sig_atomic_t stopped_by; /* a signal, or 0 */
static bool has_bar;                     /* on the terminal, the line of the progress bar is open */

/* A first signal is looked at behind the step, which may take minutes: so it is answered here. A
 * second one ends the program at once, and takes a half-written file with it. */
static void stop(int which) {
    static const char answer[] =
        "\nnote: it stops behind this step, and saves; a second signal ends it at once\n";
    const int error = errno, skipped = !has_bar;
    if (stopped_by) {
        output_abandon();
        signal(which, SIG_DFL);
        raise(which);
    }
    stopped_by = which;
    if (write(STDERR_FILENO, answer + skipped, sizeof answer - 1 - (size_t)skipped) < 0) {
    } /* who reads it is gone */
    errno = error;
}

/* Ctrl-C, or who shuts the machine down, costs no step: the one at work is done, and saved. Several
 * processes end as mpirun ends them: at once. */
static void stop_behind_the_step(const Run *run) {
    if (run->ranks.count > 1) return;
    has_bar = isatty(STDERR_FILENO);
    catch_signal(SIGINT, stop, SA_RESTART);
    catch_signal(SIGTERM, stop, SA_RESTART);
}

/* The signal is raised again, which `stop` takes for the second: so who waits for the program
 * learns how it ended. */
static void end_by(int signal, int step) {
    printf("stopped behind step %d, which is saved: the same command with --resume goes on\n",
           step);
    fflush(stdout);
    raise(signal);
}

static void train(Run *run, uint64_t fingerprint) {
    const TrainConfig *r = &run->recipe;
    int signal = 0;
    stop_behind_the_step(run);
    Report report = report_open(r->out, run->state.step, r->steps, run->state.seconds);
    folder_describe(r->out, run->config_path, run->dtype, run->tokenizer_folder, run->tokenizer);
    if (run->state.step)
        folder_save_model(r->out, &run->state.weights, run->dtype); /* it may be missing */
    report_batch(&report, &run->config, r->batch_size, run->part.count, r->seq_len);
    if (r->sample_every && run->state.step == 0) {
        printf("step 0 of %d   random weights\n", r->steps);
        write_sample(&run->state.weights, run->tokenizer, r->prompt, 120, r->seed);
    }
    report_waits(&report, run->state.step);
    int64_t before = sent_so_far().bytes;
    while (!signal && run->state.step < r->steps) {
        Row row = step(run);
        if (due(r->eval_every, run)) row.validation = validate(run);
        report_step(&report, &row);
        signal = stopped_by; /* looked at once: a later one stops behind the next step */
        if (signal || due(r->save_every, run)) save(run, fingerprint);
        if (signal || due(r->save_every, run) || due(r->eval_every, run) ||
            due(r->sample_every, run))
            report_line(&report, &row);
        if (due(r->sample_every, run))
            write_sample(&run->state.weights, run->tokenizer, r->prompt, 120, r->seed);
    }
    report_close(&report);
    if (run->ranks.count > 1 && report.done)
        printf("rank 0 has sent %.2f MB to the others in each step\n",
               (double)(sent_so_far().bytes - before) / 1e6 / report.done);
    if (signal && run->state.step < r->steps) end_by(signal, run->state.step);
}

/* ------------------------------------------------------------------ the beginning */

/* Rank 0 alone has to do with the folder. */
static void begin(Run *run, uint64_t fingerprint) {
    const TrainConfig *r = &run->recipe;
    folder_claim(r->out, r->resume);
    bool resumed = checkpoint_restore(r->out, &run->state, r, fingerprint);
    printf("%zu weights, %d step%s of %d sequence%s of %d token%s\n", run->gradients.count,
           r->steps, r->steps == 1 ? "" : "s", r->batch_size, r->batch_size == 1 ? "" : "s",
           r->seq_len, r->seq_len == 1 ? "" : "s");
    mixture_print(&run->data, (size_t)r->steps * (size_t)r->batch_size);
    if (resumed && run->state.step < r->steps) printf("resumed behind step %d\n", run->state.step);
    else if (resumed)
        printf(
            "step %d was the last: --model %s and another --out begin with what it has learned\n",
            r->steps, r->out);
    fflush(stdout);
}

/* Broadcasts rank 0's initial state to all others. */
static void share_beginning(State *s, uint64_t fingerprint) {
    uint64_t first = fingerprint;
    broadcast_bytes(sizeof first, &first);
    if (first != fingerprint)
        fail("its --data, its tokenizer or its config.json are not those of rank 0");
    const Parameters *each[] = {&s->weights, &s->m, &s->v};
    broadcast_bytes(sizeof s->step, &s->step);
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < each[i]->tensor_count; t++)
            broadcast_bytes(tensor_bytes(&each[i]->tensors[t]), (void *)each[i]->tensors[t].data);
}

int main(int argc, char **argv) {
    Run run = {.ranks = ranks_open()};
    ranks_ordered_begin();
    run.recipe = train_config_read(argc, argv);
    trainer_open(&run);
    uint64_t fingerprint = run_fingerprint(&run);
    if (run.ranks.rank == 0) begin(&run, fingerprint);
    ranks_ordered_end();
    share_beginning(&run.state, fingerprint);
    mixture_seek(&run.data, (size_t)run.state.step * (size_t)run.recipe.batch_size);
    if (run.ranks.rank == 0) train(&run, fingerprint);
    else train_on(&run);
    if (run.ranks.rank == 0 && run.recipe.plot) report_plot(run.recipe.out, run.recipe.eval_data);
    trainer_close(&run);
    ranks_close();
    return 0;
}
