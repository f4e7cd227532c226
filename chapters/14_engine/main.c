/* Chapter 14: one model in four layouts, a GGUF file byte by byte, a tokenizer.json and a chat
 * template step by step, and the mistakes that nobody reports. */
#include "11_generation/generation.h"
#include "14_engine/chat/chat.h"
#include "14_engine/formats/model_open_any.h"
#include "14_engine/lesson/layouts.h"
#include "14_engine/lesson/lesson.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"
#include "common/sentence.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char model_folder[] = ROOT "/common/stories/model";
static const char toy_folder[] = ROOT "/chapters/14_engine/lesson/toy";
static const char golden_tokenizer[] = ROOT "/tests/golden/tokenizers/prepend/tokenizer.json";
static const char golden_gguf[] = ROOT "/tests/golden/gguf/plain.gguf";

/* ------------------------------------------------------------------ four layouts */

static void print_names(const Model *model) {
    section("One tensor, three names");
    Table table = {0};
    table_row(&table, "Hugging Face|<Meta's .pth|<GGUF|shape|rows in another order");
    for (const Part *part = parts; part < parts + PARTS; part++) {
        char shape[SHAPE_TEXT];
        Tensor tensor = part_tensor(model, part, 0);
        table_row(&table, "%s|%s|%s|%s|%s", part->hugging_face, part->meta, part->gguf,
                  shape_text(shape, tensor.rank, tensor.shape), part->is_rotated ? "yes" : "no");
    }
    table_print(&table, stdout);
}

/* Where the rows of head 0 of q_proj in layer 0 are in Meta's order, found by their numbers. */
static void print_rows(const Model *model, const Model *other) {
    const int C = model->config.C, D = model->config.D, some[] = {0, 1, 2, 3, 16, 17, 18, 19};
    float(*here)[C] = (void *)tensor_to_float(&model->layers[0].q_proj);
    float(*there)[C] = (void *)tensor_to_float(&other->layers[0].q_proj);
    section("Where the rows of a head go");
    Table table = {0};
    table_row(&table,
              "row in model.safetensors|its first numbers|row in the GGUF|its first numbers");
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        int from = some[i], to = 0;
        while (to < D && memcmp(here[from], there[to], sizeof *here) != 0) to++;
        table_row(&table, "%d|%.4f  %.4f|%d|%.4f  %.4f", from, here[from][0], here[from][1], to,
                  there[to][0], there[to][1]);
    }
    table_print(&table, stdout);
    free(here);
    free(there);
}

/* The logits after the course's sentence. */
static void read_sentence(const Model *model, const Sentence *s, float logits[s->V]) {
    Decoder decoder = decoder_new(model, &reference_kernels, s->T);
    decoder_eval(&decoder, s->T, s->ids);
    decoder_logits(&decoder, logits);
    decoder_free(&decoder);
}

static void add_layout(Table *table, const char *name, const Model *model, const Sentence *s,
                       const Tokenizer *tokenizer, const float expected[s->V]) {
    float logits[s->V];
    read_sentence(model, s, logits);
    int far = sentence_count_mismatches(3, s->V, logits, expected), best = argmax(s->V, logits);
    size_t length;
    const char *piece = tokenizer_piece(tokenizer, best, &length);
    table_row(table, "%s|%s|%d of %d|%.*s", name,
              model->interleaved ? "(0, 1), (2, 3), …" : "(0, 16), (1, 17), …", far, s->V,
              (int)length, piece);
}

static void four_layouts(const Model *model, const Tokenizer *tokenizer, const Sentence *s) {
    char folder[] = "/tmp/14_engine_XXXXXX", gguf[80], bin[80];
    if (!mkdtemp(folder)) fail("%s: no folder for temporary files", folder);
    snprintf(gguf, sizeof gguf, "%s/model.gguf", folder);
    snprintf(bin, sizeof bin, "%s/model.bin", folder);
    save_as_gguf(model, gguf);
    save_as_bin(model, bin);
    Model from_meta = meta_model(model), from_gguf = model_open_any(gguf),
          from_bin = model_open_any(bin), wrong = from_gguf;
    wrong.interleaved = false;
    print_names(model);
    print_rows(model, &from_gguf);
    const float *expected = sentence_tensor(s, "logits", 1, s->V);
    section("The same logits from each");
    Table table = {0};
    table_row(&table, "the file|RoPE rotates|logits off by over 0.001|most likely next");
    add_layout(&table, "Hugging Face's folder", model, s, tokenizer, expected);
    add_layout(&table, "Meta's .pth", &from_meta, s, tokenizer, expected);
    add_layout(&table, "GGUF", &from_gguf, s, tokenizer, expected);
    add_layout(&table, "llama2.c's .bin", &from_bin, s, tokenizer, expected);
    add_layout(&table, "GGUF, read as if it were Hugging Face's", &wrong, s, tokenizer, expected);
    table_print(&table, stdout);
    model_close(&from_gguf);
    model_close(&from_bin);
    meta_model_free(&from_meta);
    unlink(gguf);
    unlink(bin);
    rmdir(folder);
}

/* ------------------------------------------------------------------ a chat template */

static void print_chat(const Config *config) {
    const Message messages[] = {{"system", "You are kind."}, {"user", "Who has the red ball?"}};
    Tokenizer *tokenizer = tokenizer_open_any(toy_folder);
    Chat chat = chat_open(toy_folder, tokenizer, config, NULL, NULL);
    section("A chat template");
    fputs(chat.source, stdout);
    section("What it renders");
    Rendered text = template_render(&chat.template, 2, messages);
    fwrite(text.letters, 1, text.length, stdout);
    rendered_free(&text);
    section("Its tokens");
    size_t count;
    int *ids = chat_tokens(&chat, 2, messages, &count),
        end = tokenizer_special(tokenizer, "<|eot_id|>");
    for (size_t from = 0, i = 0; i < count; i++) {
        if (ids[i] != end && i + 1 < count) continue;
        print_pieces(tokenizer, i + 1 - from, ids + from);
        from = i + 1;
    }
    printf("%zu tokens, the first is %d\n", count, ids[0]);
    free(ids);
    chat_close(&chat);
    tokenizer_close(tokenizer);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 14, the engine: what the files of other people say.");
    Model model = model_open(model_folder);
    Tokenizer *tokenizer = tokenizer_open(model_folder);
    Sentence sentence = sentence_open();
    four_layouts(&model, tokenizer, &sentence);
    show_gguf(golden_gguf);
    show_pipeline("A tokenizer.json, step by step", toy_folder, "Anna’s 12 red balls.");
    show_pipeline("Llama 2's steps", golden_tokenizer, "Anna’s 12 red balls.");
    print_chat(&model.config);
    size_t length;
    char *text = tokenizer_decode(tokenizer, (size_t)sentence.T - 1, sentence.ids + 1, &length);
    show_mistakes(&model, tokenizer, text);
    free(text);
    sentence_close(&sentence);
    tokenizer_close(tokenizer);
    model_close(&model);
}
