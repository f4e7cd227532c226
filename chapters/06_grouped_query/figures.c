/* Writes the data of this chapter's figures: which key/value head each query head reads. */
#include "common/console.h"
#include "common/options.h"

/* The key/value head that query head h of H reads, as the kernel has it. */
static int group(int h, int H, int KV) { return h / (H / KV); }

static void sharing(const char *data) {
    enum { H = 6 };
    Output output =
        data_open(data, "06_sharing", "query head; the head that it reads of 6, of 2, of 1");
    for (int h = 0; h < H; h++)
        fprintf(output.file, "%d %d %d %d\n", h, group(h, H, 6), group(h, H, 2), group(h, H, 1));
    output_close(&output);
}

static void wrong(const char *data) {
    enum { H = 32, KV = 8 };
    Output output =
        data_open(data, "06_wrong", "query head of 32, the head of 8 that it reads, h % KV");
    for (int h = 0; h < H; h++) fprintf(output.file, "%d %d %d\n", h, group(h, H, KV), h % KV);
    output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 6 draw.");
    if (!data) return 0;
    sharing(data);
    wrong(data);
}
