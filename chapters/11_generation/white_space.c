#include "11_generation/white_space.h"

#include <string.h>

static const char *const characters[] = {
    " ",      "\t",     "\n",       "\v",     "\f",     "\r",     "\x1c",   "\x1d",
    "\x1e",   "\x1f",   "\xc2\x85", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
    "\u2003", "\u2004", "\u2005",   "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
    "\u2028", "\u2029", "\u202f",   "\u205f", "\u3000"};

size_t white_space_at(size_t length, const char *text, bool at_end) {
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        const size_t bytes = strlen(characters[i]);
        if (bytes > length) continue;
        if (memcmp(at_end ? text + length - bytes : text, characters[i], bytes) == 0) return bytes;
    }
    return 0;
}
