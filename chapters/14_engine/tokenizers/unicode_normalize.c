#include "14_engine/tokenizers/unicode_classes.h"
#include "14_engine/tokenizers/steps.h"
#include "common/error.h"

#ifdef UTF8PROC

#include <stdlib.h>
#include <utf8proc.h>

const bool has_normal_forms = true;

static void add_known(StringBuffer *to, utf8proc_option_t form, size_t length, const char *text) {
    utf8proc_uint8_t *written;
    if (length == 0) return;
    utf8proc_ssize_t count =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &written, form);
    if (count < 0)
        fail("a text of %zu bytes cannot be normalized: %s", length, utf8proc_errmsg(count));
    buffer_add(to, (size_t)count, (const char *)written);
    free(written);
}

static bool is_newer(uint32_t point) {
    return unicode_classes[unicode_class(point)].traits & NEWER;
}

/* A newer character stays as it is and keeps those around it apart, whatever utf8proc knows of
 * it. */
void add_normal_form(StringBuffer *to, bool composed, bool compatible, size_t length,
                     const char *text) {
    utf8proc_option_t form = UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                             (compatible ? UTF8PROC_COMPAT : 0);
    size_t done = 0;
    for (size_t i = 0, n; i < length; i += n) {
        if (!is_newer(utf8_point(text + i, &n))) continue;
        add_known(to, form, i - done, text + done);
        buffer_add(to, n, text + i);
        done = i + n;
    }
    add_known(to, form, length - done, text + done);
}

static uint32_t lower_case(uint32_t point) {
    for (int i = 0; i < newer_case_count; i++)
        if (newer_cases[i].first <= point && point <= newer_cases[i].last)
            return point + (uint32_t)newer_cases[i].further;
    return is_newer(point) ? point : (uint32_t)utf8proc_tolower((utf8proc_int32_t)point);
}

/* One character after the other; one of them becomes two. */
void add_lower_case(StringBuffer *to, size_t length, const char *text) {
    enum { DOTTED_I = 0x130 };
    for (size_t i = 0, n; i < length; i += n) {
        uint32_t point = utf8_point(text + i, &n);
        utf8proc_uint8_t written[4];
        if (point == DOTTED_I) buffer_add(to, 3, "i\u0307");
        else
            buffer_add(to,
                       (size_t)utf8proc_encode_char((utf8proc_int32_t)lower_case(point), written),
                       (const char *)written);
    }
}

#else

const bool has_normal_forms = false;

void add_normal_form(StringBuffer *to, bool, bool, size_t length, const char *text) {
    buffer_add(to, length, text);
}
void add_lower_case(StringBuffer *to, size_t length, const char *text) {
    buffer_add(to, length, text);
}

#endif
