#include "14_engine/tokenizers/precompiled_charsmap.h"
#include "common/error.h"
#include "common/file.h"

#include <stdlib.h>
#include <string.h>

struct Charsmap {
    bool removes_spaces;
    size_t units; /* of the trie; 0: nothing is mapped */
    const char *trie;
    size_t length; /* of all texts, each with its NUL */
    const char *texts;
    char copy[]; /* of the bytes */
};

/* The length of the trie, the trie, and the texts. */
Charsmap *charsmap_new(const char *path, bool removes_spaces, size_t length, const char *bytes) {
    Charsmap *map = xmalloc(sizeof *map + length);
    *map = (Charsmap){.removes_spaces = removes_spaces};
    if (length == 0) return map;
    bytes = memcpy(map->copy, bytes, length);
    size_t trie = length < 4 ? SIZE_MAX : file_u32(bytes);
    if (trie > length - 4 || trie % 4 != 0 || (trie < length - 4 && bytes[length - 1] != '\0'))
        fail("%s: its character map is no such map: is the file complete?", path);
    map->units = trie / 4;
    map->trie = bytes + 4;
    map->length = length - 4 - trie;
    map->texts = bytes + 4 + trie;
    return map;
}

void charsmap_free(Charsmap *map) { free(map); }

/* The children of a unit are at this place, each at its letter's distance: bits 10 to 30, or these
 * times 256. */
static uint32_t children(uint32_t unit) { return (unit >> 10) << ((unit & 1 << 9) >> 6); }

/* The text that stands for the longest beginning that is mapped, and how long that is; or NULL. */
static const char *find_longest(const Charsmap *map, size_t length, const char *text, size_t *n) {
    const char *found = NULL;
    uint32_t place = map->units ? children(file_u32(map->trie)) : 0;
    for (size_t i = 0; map->units && i < length; i++) {
        const unsigned char letter = (unsigned char)text[i];
        place ^= letter;
        if (place >= map->units) break;
        uint32_t unit = file_u32(map->trie + 4 * (size_t)place);
        if ((unit & 0x800000ff) != letter) break;
        place ^= children(unit);
        if (!(unit >> 8 & 1) || place >= map->units) continue;
        uint32_t value = file_u32(map->trie + 4 * (size_t)place) & 0x7fffffff;
        if (value < map->length) {
            found = map->texts + value;
            *n = i + 1;
        }
    }
    return found;
}

/* The text that the next character becomes, or the next ones, and how many bytes of them.
 * User-defined tokens stay as they are. */
static const char *next_rewritten(const Charsmap *map, const Vocabulary *v, size_t length,
                                  const char *text, size_t *n, size_t *to_length) {
    int id = names_find(&v->user_defined, length, text);
    const char *found = id >= 0 ? NULL : find_longest(map, length, text, n);
    bool valid = true;
    if (!found)
        *n = id >= 0 ? (size_t)v->tokens[id].piece_length
                     : (size_t)utf8_character(length, text, &valid);
    if (!valid) {
        *n = 1;
        found = "\uFFFD";
    }
    *to_length = found ? strlen(found) : *n;
    return found ? found : text;
}

StringBuffer charsmap_apply(const Charsmap *map, const Vocabulary *v, size_t length,
                            const char *text) {
    StringBuffer out = {0};
    bool behind_space = map->removes_spaces;
    for (size_t i = 0, n, its; i < length; i += n) {
        const char *becomes = next_rewritten(map, v, length - i, text + i, &n, &its);
        while (behind_space && its > 0 && *becomes == ' ') {
            becomes++;
            its--;
        }
        buffer_add(&out, its, becomes);
        if (its > 0) behind_space = map->removes_spaces && becomes[its - 1] == ' ';
    }
    return out;
}
