/* Chapter 16: the course's sentence and the model that reads it, ready to go back: what the program and the figures
 * begin with. */
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
} Reader;

Reader reader_open(void);
void reader_close(Reader *reader);

double reader_loss(Reader *reader);      /* the mean over all targets */
double reader_gradients(Reader *reader); /* the same, and its gradients in place of those that were there */

/* The last norm's weight whose gradient, of those that are there, is the largest. */
int reader_weight_that_matters(const Reader *reader);

/* From now on the answer is the only target, and it is this token. */
void reader_ask_for(Reader *reader, int answer);

#endif
