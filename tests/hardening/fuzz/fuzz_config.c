/* Broken config.json files: each is refused with one line, or followed by numbers that everything
 * else can stand. */
#include "09_decoder/model_summary.h"
#include "tests/hardening/fuzz/caught.h"

#include <math.h>
#include <unistd.h>

static char path[32];
static FILE *nowhere;

static void read_it(void) {
    Config config = config_read(path);
    int D = config.D, context = config_context(&config);
    static float inv_freq[MOST_HEAD / 2];
    config_print_model(nowhere, &config);
    promise(config_parameters(&config) > 0, "a model has weights", path);
    promise(context >= 1 && context <= MOST_POSITIONS, "it can be asked for a position", path);
    promise(config.eos_count >= 0 && config.eos_count <= CONFIG_EOS, "its ends are counted", path);
    rope_frequencies(D, inv_freq, &config.rope, 1);
    rope_frequencies(D, inv_freq, &config.rope, context);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static FILE *file;
    if (!file) {
        file = tmpfile();
        nowhere = fopen("/dev/null", "w");
        snprintf(path, sizeof path, "/dev/fd/%d", fileno(file));
    }
    rewind(file);
    promise(ftruncate(fileno(file), 0) == 0 &&
                pwrite(fileno(file), bytes, size, 0) == (ssize_t)size,
            "the file is written", path);
    attempt(read_it);
    return 0;
}
