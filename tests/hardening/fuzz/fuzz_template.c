/* Any chat template and any conversation, parted by the byte 1E: the template, what the system
 * says, what the user and the model say in turn. It writes a text, or is refused with one line; and
 * what no message says is not marked as said in one. */
#include "14_engine/chat/jinja.h"

#include <stdlib.h>

/* Until a template is refused nothing is freed. A fuzzer sees so many of them that what they had
 * must be freed here. */
enum { MOST_KEPT = 1 << 20 };

static void *kept[MOST_KEPT];
static size_t kept_count;

static void *keep(void *memory) { return kept[kept_count++] = memory; }

static int kept_memalign(void **memory, size_t alignment, size_t bytes) {
    if (kept_count == MOST_KEPT || posix_memalign(memory, alignment, bytes) != 0) abort();
    keep(*memory);
    return 0;
}

static void *kept_realloc(void *memory, size_t bytes) {
    size_t i = 0;
    while (i < kept_count && (!memory || kept[i] != memory)) i++;
    memory = realloc(memory, bytes);
    return i < kept_count ? kept[i] = memory : keep(memory);
}

#define posix_memalign kept_memalign
#define realloc kept_realloc
#include "tests/hardening/fuzz/caught.h"
#undef posix_memalign
#undef realloc

enum { MOST_MESSAGES = 8, PART = 0x1e };

static char *text;

static void render_it(void) {
    static const char *const roles[] = {"system", "user", "assistant"};
    Message messages[MOST_MESSAGES] = {
        {"user", "Hello!"}, {"assistant", " Hi.\n"}, {"user", "<s> Who?"}};
    size_t count = 0, said = 0, marked = 0;
    for (char *part = strchr(text, PART); part && count < MOST_MESSAGES;
         part = strchr(part, PART)) {
        *part++ = '\0';
        messages[count] = (Message){roles[count == 0 ? 0 : 1 + (count - 1) % 2], part};
        count++;
    }
    if (count == 0) count = 3;
    Template template = {.path = "template", .source = text, .bos = "<s>", .eos = "</s>"};
    Rendered rendered = template_render(&template, count, messages);
    kept_count = 0;
    for (size_t i = 0; i < count; i++) said += strlen(messages[i].content);
    for (size_t i = 0; i < rendered.length; i++) {
        marked += rendered.said[i];
        promise(rendered.letters[i] != '\0', "it writes text", text);
    }
    promise(said > 0 || marked == 0, "what nobody said is not marked", text);
    rendered_free(&rendered);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    text = malloc(size + 1);
    memcpy(text, bytes, size);
    text[size] = '\0';
    kept_count = 0; /* what others have is theirs */
    attempt(render_it);
    while (kept_count > 0) free(kept[--kept_count]);
    free(text);
    return 0;
}
