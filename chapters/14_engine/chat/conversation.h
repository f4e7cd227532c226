/* A conversation at the keyboard, or from a file of lines. */
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include "14_engine/session.h"

/* Reads a message, answers, and reads the next, up to the end of standard input. A line that ends
 * with \ goes on in the next. When the context is full, the oldest turns are dropped, and a note
 * says so. */
void converse(const Llama *llama);

#endif
