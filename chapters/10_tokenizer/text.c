#include "10_tokenizer/text.h"
#include "10_tokenizer/vocabulary.h"
#include "common/error.h"

#include <string.h>

void text_add(Text *text, size_t length, const char *bytes) {
    if (text->most && length > text->most - text->length)
        fail("what the tokenizer puts in place of others makes this text over %zu bytes long: no model's does that",
             text->most);
    if (text->capacity - text->length < length + 1) {
        text->capacity = 2 * text->capacity + length + 1;
        text->text = reallocate(text->text, text->capacity);
    }
    if (length > 0) memcpy(text->text + text->length, bytes, length);
    text->length += length;
}

void text_add_characters(Text *text, bool for_each_byte, size_t length, const char *bytes) {
    for (size_t i = 0; i < length;) {
        bool valid;
        int n = utf8_character(length - i, bytes + i, &valid);
        if (valid) text_add(text, (size_t)n, bytes + i);
        else text_add(text, 3, "\uFFFD");
        i += (size_t)(!valid && for_each_byte ? 1 : n);
    }
}
