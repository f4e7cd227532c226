/* Chapter 17: what a person sees of a run: a line that renews itself, a table in FOLDER/log.csv,
 * the loss as a curve. */
#ifndef REPORT_H
#define REPORT_H

#include "09_decoder/config.h"

#include <stdio.h>

typedef struct {
    const char *folder;
    FILE *log;
    int steps;         /* of the run */
    double tokens;     /* of a step */
    double operations; /* floating-point ones of a step, of this process */
    double measured, measuring,
        multiplied;         /* the peak: when it was measured last; seconds and operations in all */
    double before, seconds; /* of training: in runs that were resumed, and in this one */
    int done;               /* steps of this run */
    bool renews;            /* the line is on a terminal */
} Report;

/* The numbers of one step. */
typedef struct {
    int step;
    double loss, norm, rate, seconds;
    double validation; /* NAN where it was not measured */
} Row;

/* For a run that goes on behind `step` steps, which took `before` seconds: what the table says of
 * later steps is taken out, for they are done again. */
Report report_open(const char *folder, int step, int steps, double before);

/* A step is of B sequences of T tokens. This process computes `own` of them, and only these are
 * held against the peak, which is that of its own processors. */
void report_batch(Report *report, const Config *config, int B, int own, int T);
void report_waits(const Report *report, int step); /* `step` are done, and the next may take long */
void report_step(Report *report, const Row *row);
void report_line(const Report *report, const Row *row); /* a line that stays */
void report_close(Report *report);

/* Draws the loss with gnuplot, as FOLDER/loss.svg and in the terminal; and that of the validation,
 * if there was one. */
void report_plot(const char *folder, bool validated);

#endif
