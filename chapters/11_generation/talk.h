/* Chapter 11: a conversation at the keyboard, or from a file of lines. */
#ifndef TALK_H
#define TALK_H

#include "11_generation/session.h"

/* Reads a message, answers, and reads the next, up to the end of standard input; a line that ends with \ goes on in the
 * next. Where the context is full, the oldest turns are forgotten, and that is said. */
void talk(const Llama *llama);

#endif
