/* The words of a text become ids. Texts repeat their words: one that stood in the text before is not merged again, its
 * ids are copied from where they are already. */
#ifndef WORDS_H
#define WORDS_H

#include "10_tokenizer/bpe.h"
#include "10_tokenizer/families.h"

/* The ids of a text, collected. */
typedef struct {
    size_t count, capacity;
    int *ids;
} Ids;

void ids_add(Ids *ids, int id);

typedef struct {
    const Tokenizer *tokenizer;
    Vocabulary vocabulary; /* the tokenizer's; it remembers */
    const char *text;
    Ids *ids;
    size_t room; /* for so many symbols */
    Symbol *symbols;
    size_t places; /* for words that were seen: a power of two */
    struct Seen *seen;
} Words;

/* For the words of this text; their ids are added to `ids`, to which nobody else adds any in the meantime. */
Words words_new(const Tokenizer *tokenizer, size_t length, const char *text, Ids *ids);
void words_add(Words *words, size_t start, size_t length);
void words_free(Words *words);

#endif
