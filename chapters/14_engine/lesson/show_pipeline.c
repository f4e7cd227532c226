#include "11_generation/generation.h"
#include "14_engine/lesson/lesson.h"
#include "14_engine/tokenizers/pipeline.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/console.h"

#include <stdlib.h>
#include <string.h>

static const char *const step_names[] = {
    [PREFIX] = "put before it",
    [REPLACE] = "replace",
    [SPLIT] = "split",
    [BYTE_LEVEL_ENCODE] = "bytes as letters",
    [BYTE_LEVEL_DECODE] = "letters as bytes",
    [BYTE_FALLBACK] = "bytes of <0x..>",
    [STRIP] = "strip",
    [FUSE] = "join",
};

static void print_step(const char *part, const char *step, const Pieces *pieces) {
    printf("  %-16s%-19s", part, step);
    for (const Piece *p = pieces->pieces; p < pieces->pieces + pieces->count; p++)
        printf("[%.*s]", (int)p->length, pieces->text.text + p->start);
    putchar('\n');
}

static void apply(const char *part, const Steps *steps, Pieces *pieces) {
    for (int i = 0; i < steps->count; i++) {
        steps_apply(&(Steps){1, &steps->steps[i]}, pieces);
        print_step(part, step_names[steps->steps[i].kind], pieces);
    }
    if (steps->count == 0) print_step(part, "none", pieces);
}

static Pieces names_of(const Tokenizer *t, size_t count, const int ids[count]) {
    Pieces names = {0};
    for (size_t i = 0; i < count; i++) {
        const Token *token = &t->vocabulary.tokens[ids[i]];
        pieces_add(&names, (size_t)token->piece_length, token->piece, 0);
    }
    return names;
}

void show_pipeline(const char *title, const char *path, const char *text) {
    Tokenizer *t = tokenizer_open_any(path);
    size_t count, with_bos;
    int *ids = tokenizer_encode(t, strlen(text), text, false, &count);
    int *all = encode_with_bos(t, strlen(text), text, &with_bos);
    Pieces pieces = {0}, merged = names_of(t, count, ids), final = names_of(t, with_bos, all);
    section("%s", title);
    printf("  %-16s%-19sthe text after it\n", "part", "step");
    pieces_add(&pieces, strlen(text), text, 1);
    print_step("", "", &pieces);
    apply("normalizer", &t->pipeline->normalizer, &pieces);
    apply("pre_tokenizer", &t->pipeline->pre_tokenizer, &pieces);
    print_step("model", "merge", &merged);
    print_step("post_processor", tokenizer_adds_bos(t) ? "put BOS before it" : "none", &final);
    apply("decoder", &t->pipeline->decoder, &merged);
    printf("  ids:");
    for (size_t i = 0; i < with_bos; i++) printf(" %d", all[i]);
    putchar('\n');
    pieces_free(&pieces);
    pieces_free(&merged);
    pieces_free(&final);
    free(ids);
    free(all);
    tokenizer_close(t);
}
