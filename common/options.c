#include "common/options.h"
#include "common/error.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_OPTIONS = 32 };

static void print_help(const char *program, const char *usage, const char *about, int count,
                       const Option options[]) {
    printf("usage: %s %s\n%s\n\n", program, usage, about);
    for (int i = 0; i < count; i++) {
        int used = printf("  --%s %s", options[i].name, options[i].argument ? options[i].argument : "");
        printf("%*s%s\n", used < 24 ? 24 - used : 1, "", options[i].help);
    }
    printf("  --help%*sthis text\n", 16, "");
}

int parse_options(int argc, char **argv, const char *usage, const char *about, int count, const Option options[]) {
    struct option known[MAX_OPTIONS + 2] = {{"help", no_argument, NULL, 0}};
    for (int i = 0; i < count; i++)
        known[i + 1] = (struct option){options[i].name, options[i].argument ? required_argument : no_argument, NULL, 0};
    opterr = 0;
    for (;;) {
        int found = -1, code = getopt_long(argc, argv, ":", known, &found);
        if (code == -1) return optind;
        if (code == ':') fail("%s needs an argument: see %s --help", argv[optind - 1], argv[0]);
        if (code == '?') fail("%s is not understood: see %s --help", argv[optind - 1], argv[0]);
        if (found == 0) {
            print_help(argv[0], usage, about, count, options);
            exit(0);
        }
        *options[found - 1].value = optarg ? optarg : "";
    }
}

const char *chapter_options(int argc, char **argv, const char *about) {
    const char *data = NULL;
    Option options[] = {{"data", "DIR", "write there what the figures are drawn from", &data}};
    int rest = parse_options(argc, argv, "[--data DIR]", about, 1, options);
    if (rest < argc) fail("%s is not understood: see %s --help", argv[rest], argv[0]);
    return data;
}
