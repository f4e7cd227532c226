/* Writes the data of this chapter's figures: the key/value head that each query head reads,
 * found by calling the kernel. */
#include "06_grouped_query/grouped_query.h"
#include "common/console.h"
#include "common/options.h"

/* With one token the only weight is 1 and an output is a value. Value head g holds the number g. */
static void who_reads(int H, int KV, float reads[restrict 1][H][1]) {
    float q[1][H][1], v[1][KV][1];
    for (int h = 0; h < H; h++) q[0][h][0] = 1;
    for (int g = 0; g < KV; g++) v[0][g][0] = (float)g;
    grouped_query_attention(1, H, KV, 1, reads, q, v, v);
}

static void sharing(const char *data) {
    float mha[1][6][1], two[1][6][1], mqa[1][6][1];
    who_reads(6, 6, mha);
    who_reads(6, 2, two);
    who_reads(6, 1, mqa);
    Output output =
        data_open(data, "06_sharing", "query head; the head that it reads of 6, of 2, of 1");
    for (int h = 0; h < 6; h++)
        fprintf(output.file, "%d %g %g %g\n", h, mha[0][h][0], two[0][h][0], mqa[0][h][0]);
    output_close(&output);
}

static void wrong(const char *data) {
    float reads[1][32][1];
    who_reads(32, 8, reads);
    Output output =
        data_open(data, "06_wrong", "query head of 32, the head of 8 that it reads, h % KV");
    for (int h = 0; h < 32; h++) fprintf(output.file, "%d %g %d\n", h, reads[0][h][0], h % 8);
    output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 6 draw.");
    if (!data) return 0;
    sharing(data);
    wrong(data);
}
