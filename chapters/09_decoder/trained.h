/* Chapter 9: the trained model from within: the stream as it grows, what a head looks at, and how long a text may be. */
#ifndef TRAINED_H
#define TRAINED_H

/* Prints three sections; with `data`, writes there what their figures are drawn from. */
void trained_model(const char *data);

#endif
