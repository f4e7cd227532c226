#include "10_tokenizer/bpe.h"
#include "common/error.h"

#include <stdlib.h>

/* Two neighbours that may merge: `left` and the one after it, together so many bytes long. */
typedef struct {
    float rank;
    int left, length, id;
} Candidate;

/* A binary heap: no candidate comes before its parent, so the first of all is at [0]. */
typedef struct {
    int count;
    Candidate *candidates;
} Heap;

static bool before(const Candidate *a, const Candidate *b) {
    return a->rank < b->rank || (a->rank == b->rank && a->left < b->left);
}

static void heap_push(Heap *heap, Candidate candidate) {
    int i = heap->count++;
    for (int parent; i > 0 && before(&candidate, &heap->candidates[parent = (i - 1) / 2]);
         i = parent)
        heap->candidates[i] = heap->candidates[parent];
    heap->candidates[i] = candidate;
}

static Candidate heap_pop(Heap *heap) {
    Candidate *c = heap->candidates, first = c[0], last = c[--heap->count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && before(&c[child + 1], &c[child])) child++;
        if (!before(&c[child], &last)) break;
        c[i] = c[child];
    }
    c[i] = last;
    return first;
}

/* Puts `left` and its neighbour on the heap, if together they are a token. */
static void push_pair(Heap *heap, const Vocabulary *vocabulary, const char *text,
                      const Symbol symbols[], int left) {
    if (left < 0 || symbols[left].next < 0) return;
    const Symbol *a = &symbols[left], *b = &symbols[a->next];
    Merge merge = vocabulary_merge(vocabulary, text + a->start, a->length, a->id, b->length, b->id);
    if (merge.id >= 0)
        heap_push(heap, (Candidate){merge.rank, left, a->length + b->length, merge.id});
}

/* Symbols only grow. If the two are still as long together as they were, they are the same two; if
 * not, one of them has merged with another neighbour in the meantime, and this candidate is stale.
 * It is cheaper to look now than to search the heap at every merge. */
static bool is_stale(const Candidate *candidate, const Symbol symbols[]) {
    const Symbol *left = &symbols[candidate->left];
    return left->length == 0 || left->next < 0 ||
           left->length + symbols[left->next].length != candidate->length;
}

/* The left one takes in its right neighbour, which is left with a length of 0. */
static void merge_into_left(Symbol symbols[], int left, int id) {
    Symbol *a = &symbols[left], *b = &symbols[a->next];
    a->length += b->length;
    a->id = id;
    a->next = b->next;
    if (b->next >= 0) symbols[b->next].previous = left;
    b->length = 0;
}

int bpe_merge(const Vocabulary *vocabulary, const char *text, int count, Symbol symbols[count]) {
    if (count < 2) return count;
    /* A merge takes one candidate off the heap and puts at most two on it: there are never 2 n of
     * them. */
    Heap heap = {0, xmalloc(size_mul(count, 2 * sizeof(Candidate)))};
    for (int i = 0; i < count; i++) {
        symbols[i].previous = i - 1;
        symbols[i].next = i + 1 < count ? i + 1 : -1;
    }
    for (int i = 0; i < count; i++) push_pair(&heap, vocabulary, text, symbols, i);

    while (heap.count > 0) {
        Candidate best = heap_pop(&heap);
        if (is_stale(&best, symbols)) continue;
        merge_into_left(symbols, best.left, best.id);
        push_pair(&heap, vocabulary, text, symbols, symbols[best.left].previous);
        push_pair(&heap, vocabulary, text, symbols, best.left);
    }
    free(heap.candidates);

    int kept = 0;
    for (int i = 0; i >= 0; i = symbols[i].next)
        symbols[kept++] = symbols[i]; /* kept <= i: nothing is lost */
    return kept;
}
