/* A vocabulary from a text: the two functions of train.h, in turn. Source: Sennrich, Haddow and Birch (2016),
 * algorithm 1. */
#ifndef LEARN_H
#define LEARN_H

enum { CHARACTERS = 128, LONGEST = 32 }; /* of ASCII; bytes of a token, with a zero behind them */

/* The two tokens that it is made of, how often they stood side by side, and its text, with ▁ for a space and
 * \n for the end of a line. */
typedef struct {
    int left, right, times;
    char text[LONGEST];
} Learned;

/* Learns tokens until there are V. The first are the characters themselves, and ids[n] is the text in them; afterwards
 * it is the text in what was learned. Returns how many ids that are. */
int learn(int V, Learned token[restrict V], int n, int ids[n]);

/* The same merges in the same order, in another text. */
int apply_learned(int V, const Learned token[V], int n, int ids[n]);

#endif
