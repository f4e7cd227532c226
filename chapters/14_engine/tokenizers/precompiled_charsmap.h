/* The precompiled_charsmap of a SentencePiece tokenizer.model, which no Llama of Meta's has: it
 * rewrites some characters before anything else, ﬁ to fi and ① to 1. Such a file may also, as
 * OpenLLaMA's, remove spaces at the ends of a text and where there is one before them. Source:
 * normalizer.cc of SentencePiece; darts.h of darts-clone, the trie. */
#ifndef CHARACTER_MAP_H
#define CHARACTER_MAP_H

#include "10_tokenizer/tokenizer_internal.h"

typedef struct Charsmap Charsmap;

/* A copy of the bytes of a precompiled_charsmap, or of none. `path` is for messages. */
Charsmap *charsmap_new(const char *path, bool removes_spaces, size_t length, const char *bytes);
void charsmap_free(Charsmap *map);

/* Rewrites a text. Spaces are removed at its beginning and where they are repeated; one may be left
 * at its end. */
StringBuffer charsmap_apply(const Charsmap *map, const Vocabulary *vocabulary, size_t length,
                            const char *text);

#endif
