#include "17_training/report.h"
#include "12_speed/machine_limits.h"
#include "17_training/folder.h"
#include "common/console.h"
#include "common/error.h"
#include "common/output.h"
#include "common/timer.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ------------------------------------------------------------------ log.csv */

static const char header[] = "step,tokens,loss,norm,rate,seconds,validation\n";

/* Copies the whole rows of the first `step` steps; a row that was cut off at the end is left out.
 */
static void copy_rows(const char *path, FILE *to, int step) {
    size_t length;
    if (step == 0 || !file_is_there(path)) return;
    char *text = file_read_regular(path, &length);
    for (char *row = text, *end; (end = strchr(row, '\n')); row = end + 1)
        if (row != text && strtol(row, NULL, 10) <= step)
            fwrite(row, 1, (size_t)(end + 1 - row), to);
    free(text);
}

Report report_open(const char *folder, int step, int steps, double before) {
    char path[FOLDER_PATH];
    Output output = output_open(in_folder(path, folder, "log.csv"));
    fputs(header, output.file);
    copy_rows(path, output.file, step);
    output_close(&output);
    FILE *log = fopen(path, "ab");
    if (!log) fail("cannot write %s: %s", path, strerror(errno));
    return (Report){.folder = folder,
                    .log = log,
                    .steps = steps,
                    .before = before,
                    .renews = isatty(STDERR_FILENO)};
}

static void write_row(const Report *r, const Row *row) {
    fprintf(r->log, "%d,%.0f,%.9g,%.6g,%.6g,%.3f,", row->step, row->step * r->tokens, row->loss,
            row->norm, row->rate, r->before + r->seconds);
    if (!isnan(row->validation)) fprintf(r->log, "%.9g", row->validation);
    fputc('\n', r->log);
    errno = 0;
    if (fflush(r->log) != 0 || ferror(r->log))
        fail("cannot write %s/log.csv: %s; the last checkpoint is whole", r->folder,
             errno ? strerror(errno) : "is the disk full?");
}

void report_close(Report *r) {
    if (fclose(r->log) != 0) fail("cannot write %s/log.csv: %s", r->folder, strerror(errno));
}

/* ------------------------------------------------------------------ the line */

/* Floating-point operations of training on B sequences of T tokens: 6 for each weight of a matrix
 * and token, two forward and four backward; and attention's, where a token meets itself and those
 * before it, in the mean (T + 1) / 2. */
static double training_operations(const Config *c, int B, int T) {
    double C = c->C, queries = (double)c->H * c->D, keys = (double)c->KV * c->D;
    double layer = 2 * C * queries + 2 * C * keys + 3 * C * c->F,
           matrices = c->L * layer + (double)c->V * C;
    double attention =
        2 * queries * (T + 1) / 2; /* multiplications of a token: scores, and the sum of values */
    return 6.0 * B * T * (matrices + c->L * attention);
}

void report_batch(Report *r, const Config *config, int B, int own, int T) {
    r->tokens = (double)B * T;
    r->operations = training_operations(config, own, T);
}

/* Multiplies for some thousandths of a second, now and then: what a shared machine gives changes.
 */
static void measure_peak(Report *r) {
    const double every = 2, start = seconds();
    if (r->measured && start < r->measured + every) return;
    r->multiplied += multiply_adds(thread_count());
    r->measured = seconds();
    r->measuring += r->measured - start;
}

static const char *time_text(char text[static 32], double s) {
    if (s < 90) snprintf(text, 32, "%.0f s", s);
    else if (s < 90 * 60) snprintf(text, 32, "%.0f min", s / 60);
    else snprintf(text, 32, "%.1f h", s / 3600);
    return text;
}

static const char *line_text(char text[static 160], const Report *r, const Row *row) {
    char rate[RATE_TEXT], left[32];
    double a_second = r->done / r->seconds;
    snprintf(text, 160,
             "step %d of %d   loss %.4f   %s tokens a second, %.0f %% of FMA peak   %s left",
             row->step, r->steps, row->loss, rate_text(rate, a_second * r->tokens),
             100 * a_second * r->operations * r->measuring / r->multiplied,
             time_text(left, (r->steps - row->step) / a_second));
    return text;
}

/* Nothing is seen of a step before its end: so where even a machine that only multiplied would need
 * long for it, that is said before. */
void report_waits(const Report *r, int step) {
    enum { LONG = 10 };
    const double slow = 1e10; /* operations a second: no machine here is slower */
    char text[160], least[32];
    double time = r->operations / slow;
    if (time > LONG) time = r->operations / fma_peak(thread_count());
    if (time > LONG && step < r->steps)
        printf("a step reads %.0f tokens, and takes %s or more here: a smaller --batch-size is "
               "seen sooner\n",
               r->tokens, time_text(least, time));
    fflush(stdout);
    snprintf(text, sizeof text, "step %d of %d at work   a step reads %.0f tokens", step + 1,
             r->steps, r->tokens);
    if (step < r->steps) progress_bar((size_t)step, (size_t)r->steps, "%-90s", text);
}

void report_step(Report *r, const Row *row) {
    char text[160];
    r->done++;
    r->seconds += row->seconds;
    measure_peak(r);
    write_row(r, row);
    progress_bar((size_t)row->step, (size_t)r->steps, "%-90s", line_text(text, r, row));
}

void report_line(const Report *r, const Row *row) {
    char text[160];
    if (r->renews && row->step < r->steps) fprintf(stderr, "\r\033[K");
    printf("%s", line_text(text, r, row));
    if (!isnan(row->validation)) printf("   validation %.4f", row->validation);
    putchar('\n');
    fflush(stdout);
}

/* ------------------------------------------------------------------ the curve */

/* NAME='FOLDER/FILE', in gnuplot's quotes, where a quote is written twice. */
static char *quoted(const char *name, const char *folder, const char *file) {
    char *text = xmalloc(2 * strlen(folder) + strlen(name) + strlen(file) + 8), *to = text;
    to += sprintf(to, "%s='", name);
    for (const char *c = folder; *c; c++) {
        if (*c == '\'') *to++ = '\'';
        *to++ = *c;
    }
    sprintf(to, "/%s'", file);
    return text;
}

static bool gnuplot(char *style, char *data, char *validation, char *how) {
    char *words[] = {"gnuplot", "-e",       style, "-e", data,
                     "-e",      validation, "-e",  how,  ROOT "/chapters/17_training/loss.gp",
                     NULL};
    pid_t child;
    int status;
    fflush(stdout);
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) != 0) return false;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void report_plot(const char *folder, bool validated) {
    char *style = quoted("style", ROOT, "figures/style.gp"),
         *data = quoted("data", folder, "log.csv");
    char *output = quoted("output", folder, "loss.svg");
    char *validation = validated ? "validation=1" : "";
    if (!gnuplot(style, data, validation, output))
        printf("note: the loss was not drawn: gnuplot is missing, or could not (apt install "
               "gnuplot-nox)\n");
    else gnuplot(style, data, validation, "preview=1");
    free(style);
    free(data);
    free(output);
}
