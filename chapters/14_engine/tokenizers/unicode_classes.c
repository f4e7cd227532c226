#include "14_engine/tokenizers/unicode_classes.h"

#include <stdbool.h>
#include <stdlib.h>

enum { POINTS = 0x110000 };
static unsigned char class_of[POINTS];

static void read_runs(void) {
    unsigned char place[128] = {0};
    for (int i = 0; i < unicode_class_count; i++)
        place[(int)unicode_classes[i].letter] = (unsigned char)i;
    int point = 0;
    for (const char *at = unicode_class_runs; *at;) {
        unsigned char class = place[(int)*at++];
        char *end = (char *)at;
        long length = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 1;
        at = end;
        while (length-- > 0) class_of[point++] = class;
    }
}

int unicode_class(uint32_t point) {
    static bool was_read;
    if (!was_read) read_runs();
    was_read = true;
    return class_of[point];
}
