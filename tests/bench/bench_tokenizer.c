/* For tests/bench/bench_tokenizer.py: encodes texts, and says how long that took.
 *
 *     bench_tokenizer MODEL TEXTS IDS
 *
 * TEXTS: of each text its length, then its bytes. IDS: of each its number of ids, then these. Every
 * number is an int32 as this machine writes it. Printed are the seconds of the processor, without
 * those of reading and writing. */
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/output.h"
#include "common/timer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 4) fail("usage: bench_tokenizer MODEL TEXTS IDS");
    Tokenizer *tokenizer = tokenizer_open_any(argv[1]);
    size_t length, count;
    char *texts = file_read(argv[2], &length);
    Output output = output_open(argv[3]);
    double seconds = 0;
    for (size_t at = 0; at < length;) {
        int32_t text_length;
        memcpy(&text_length, texts + at, sizeof text_length);
        at += sizeof text_length;
        double start = processor_seconds();
        int *ids = tokenizer_encode(tokenizer, (size_t)text_length, texts + at, false, &count);
        seconds += processor_seconds() - start;
        fwrite(&(int32_t){(int32_t)count}, sizeof(int32_t), 1, output.file);
        fwrite(ids, sizeof *ids, count, output.file);
        free(ids);
        at += (size_t)text_length;
    }
    output_close(&output);
    printf("%.6f\n", seconds);
    free(texts);
    tokenizer_close(tokenizer);
}
