#include "10_tokenizer/stand_ins.h"
#include "10_tokenizer/vocabulary.h"
#include "common/error.h"

#include <string.h>

/* By class, and by the number of bytes from two on. */
static const char *const stand_ins[CLASSES][3] = {
    [NONE] = {"\xc2\x80", "\uFDD0", "\U0001FFFE"}, [UPPER] = {"À", "Ḁ", "𐐀"},           [LOWER] = {"à", "ḁ", "𐐨"},
    [MODIFIER] = {"ʰ", "ᴬ", "𖾓"},                   [LETTER] = {"ƻ", "ᐁ", "𐀀"},          [HAN] = {"", "一", "𠀀"},
    [MARK] = {"\u0300", "\u1DC0", "\U0001D167"},    [SPACING] = {"", "\u0903", "\U00011002"}, [DIGIT] = {"٠", "०", "𐒠"},
    [NUMBER] = {"²", "①", "𐄇"},                    [PUNCTUATION] = {"§", "†", "𐄀"},     [SYMBOL] = {"¬", "■", "𝄀"},
    [FORMAT] = {"\u00AD", "\u2060", "\U000E0001"},
};

static Class class_in(Unicode unicode, Class class) {
    if (unicode == UNICODE_OLD) return NONE;
    if (class != NEWEST_DIGIT) return class;
    return unicode == UNICODE_17 ? DIGIT : NONE;
}

/* The first range that ends at `point` or behind it. */
static int range_at(uint32_t point) {
    int low = 0, high = newer_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (newer[middle].last < point) low = middle + 1;
        else high = middle;
    }
    return low;
}

const Newer *newer_range(uint32_t point) {
    int i = range_at(point);
    return i < newer_count && newer[i].first <= point ? &newer[i] : NULL;
}

/* The stretch between two ranges in which the last character was: the next one mostly is there, too. */
typedef struct {
    uint32_t from, to;
} Gap;

/* The class of a newer character; or where others are around it. */
static bool is_newer(uint32_t point, Gap *gap, Class *class) {
    if (point >= gap->from && point < gap->to) return false;
    int i = range_at(point);
    if (i < newer_count && newer[i].first <= point) return *class = newer[i].class, true;
    *gap = (Gap){i > 0 ? newer[i - 1].last + 1 : 0, i < newer_count ? newer[i].first : UINT32_MAX};
    return false;
}

char *with_stand_ins(Unicode unicode, size_t length, const char *text) {
    char *copy = NULL;
    Gap gap = {0};
    Class class;
    for (size_t i = 0, n; i < length; i += n) {
        n = 1;
        if ((unsigned char)text[i] < 0x80) continue;
        uint32_t point = utf8_point(text + i, &n);
        if (!is_newer(point, &gap, &class)) continue;
        if (!copy) copy = memcpy(allocate(length), text, length);
        memcpy(copy + i, stand_ins[class_in(unicode, class)][n - 2], n);
    }
    return copy;
}
