/* What exists for other people's vocabularies alone: a tokenizer.model of SentencePiece may write some characters as
 * others before anything else, ﬁ as fi and ① as 1, and, as OpenLLaMA's, have no spaces at the ends of a text, nor two
 * of them side by side.
 * Source: normalizer.cc of SentencePiece; darts.h of darts-clone, the trie. */
#ifndef CHARACTER_MAP_H
#define CHARACTER_MAP_H

#include "10_tokenizer/text.h"
#include "10_tokenizer/vocabulary.h"

typedef struct CharacterMap CharacterMap;

/* The bytes of a precompiled_charsmap, which stay the caller's, or none. `path` is for messages. */
CharacterMap *character_map_new(const char *path, bool removes_spaces, size_t length, const char *bytes);
void character_map_free(CharacterMap *map);

/* A text as it is then. */
Text character_map_apply(const CharacterMap *map, const Vocabulary *vocabulary, size_t length, const char *text);

/* And when ▁, `space`, stands for its spaces: how long it is without those at its end. */
size_t character_map_end(const CharacterMap *map, const char *space, size_t length, const char *normal);

#endif
