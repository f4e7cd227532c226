/* Chapter 17: what a step reads. Documents of one or several files are packed into sequences of T
 * tokens, and these are drawn in an order that the seed decides.
 *
 *     packed     whole documents side by side, such that little room is left; it is filled up, with
 * nothing to learn there. Or, if they may be cut, one behind the other without a gap. A token sees
 * the documents before its own in the sequence, too, unless they are kept apart (step.h): BOS tells
 * it where its own begins a mixture  each file has a weight: its share of the sequences. And how
 * often it is read: that often at most, and then the others go on without it the order  a file's
 * sequences in a new random order each time that it is read; or as they stand in the file
 *
 * Where a run stands in all this is one number: how many sequences were drawn. */
#ifndef MIXTURE_H
#define MIXTURE_H

#include "17_training/documents.h"
#include "common/options.h"
#include "common/random.h"

#include <stdint.h>

enum { MOST_SOURCES = OPTION_TIMES };

typedef struct {
    char *path;
    double weight, epochs; /* 0: not said */
    Documents documents;
    size_t count, *first; /* sequences, and where each begins in `pieces`: [count + 1] */
    Span *pieces;         /* documents, or parts of them */
    size_t limit;         /* sequences that may be drawn */
    /* where the run stands: */
    double credit; /* what is missing to its share */
    size_t drawn, epoch;
    size_t *order; /* [count]: of this epoch */
} Source;

typedef struct {
    int T, count;
    bool no_shuffle;
    Source sources[MOST_SOURCES];
    uint64_t seed;
    size_t drawn; /* sequences so far */
} Mixture;

/* Each of the `specs` is FILE[:weight[:epochs]]. Or fail(). */
Mixture mixture_open(int count, const char *const specs[], const Reading *reading, uint64_t seed);
void mixture_free(Mixture *mixture);

/* The number of sequences if each file is read as often as its spec says, or once. With `only`,
 * no more than that many will be drawn; otherwise a file that says nothing is read again and
 * again. */
size_t mixture_whole(Mixture *mixture, bool only);

/* The next B sequences. A target is the token that follows, and counts `counts`; -1 where there is
 * nothing to learn. */
void mixture_next(Mixture *mixture, int B, int ids[B][mixture->T], int targets[B][mixture->T],
                  float counts[B][mixture->T]);

/* The file's sequence s alone: for who reads all of them in their order. */
void mixture_sequence(const Mixture *mixture, const Source *source, size_t s, int ids[mixture->T],
                      int targets[mixture->T], float counts[mixture->T]);

/* From the beginning to where so many sequences are drawn. Returns false if there are not as many.
 */
bool mixture_seek(Mixture *mixture, size_t drawn);

/* A number that is another one for other data: other tokens, weights, lengths. */
uint64_t mixture_fingerprint(const Mixture *mixture);
uint64_t fingerprint_mix(uint64_t fingerprint,
                         uint64_t number); /* FNV-1a, of numbers in place of bytes */

/* A row for each file: documents, tokens, share of the run and how often it is read, if so many
 * sequences are drawn. The mixture stands at its beginning again. */
void mixture_print(Mixture *mixture, size_t drawn);

#endif
