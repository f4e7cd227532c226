/* Byte pair encoding: a text begins as single characters, or bytes, and the neighbours that may
 * merge first, merge first, until none may. Source: Sennrich, Haddow and Birch, "Neural Machine
 * Translation of Rare Words with Subword Units" (2016); bpe_model.cc of SentencePiece; lib.rs of
 * tiktoken. */
#ifndef BPE_H
#define BPE_H

#include "10_tokenizer/vocabulary.h"

/* A stretch of the text, and the token that it is; -1 if it is none, as a character that the
 * vocabulary lacks. */
typedef struct {
    int start, length, id;
    int previous, next; /* in a list of those that are left; -1 at its ends */
} Symbol;

/* Merges neighbours, those of the lowest rank first, of equal ranks the leftmost. `symbols` are
 * `count` stretches that follow each other in `text`, with start, length and id. What they grow
 * into stands at their front in the end; returns how many that are. O(n log n), whatever the
 * text. */
int bpe_merge(const Vocabulary *vocabulary, const char *text, int count, Symbol symbols[count]);

#endif
