/* Chapter 16: the course's sentence and the model that reads it, ready to go back: what the program
 * and the figures begin with. */
#ifndef READER_H
#define READER_H

#include "16_backward/decoder_backward.h"
#include "common/sentence.h"

typedef struct {
    Sentence sentence;
    Model model;
    Parameters weights, gradients;
    Activations activations;
    int *targets; /* [T]: the token that follows each; after the last, the answer's first */
} Fixture;

Fixture fixture_open(void);
void fixture_close(Fixture *reader);

double fixture_loss(Fixture *reader); /* the mean over all targets */
double fixture_gradients(
    Fixture *reader); /* the same, and its gradients in place of those that were there */

/* The last norm's weight whose gradient, of those that are there, is the largest. */
int fixture_largest_gradient(const Fixture *reader);

/* From now on the answer is the only target, and it is this token. */
void fixture_ask_for(Fixture *reader, int answer);

#endif
