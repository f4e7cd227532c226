#include "tests/judge/signature.h"
#include "common/error.h"
#include "common/file.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------- messages */

/* The place that a message begins with: "FILE:LINE:COLUMN: error: …". */
typedef struct {
    char file[PATH_MAX];
    long line;
} Place;

/* `at` lies in the message. */
static bool place_of(const char *messages, const char *at, Place *place) {
    const char *begin = at;
    while (begin > messages && begin[-1] != '\n') begin--;
    const char *end = strpbrk(begin, ":\n");
    for (char *number; end && *end == ':' && end - begin < PATH_MAX;
         end = strpbrk(end + 1, ":\n")) {
        place->line = strtol(end + 1, &number, 10);
        if (number == end + 1 || *number != ':') continue;
        snprintf(place->file, PATH_MAX, "%.*s", (int)(end - begin), begin);
        return true;
    }
    return false;
}

/* The first "WORDS 'NAME'"; NULL if there is none. */
static const char *find_message(const char *messages, const char *words, const char *name) {
    char wanted[128];
    snprintf(wanted, sizeof wanted, " %s '%s'", words, name);
    return strstr(messages, wanted);
}

/* ---------------------------------- two declarations side by side */

enum { DECLARATION = 2048, SHOWN = 160 };

/* "void silu(int n, float out[n], const float x[n])": what stands at a place, without comments, its
 * blanks single. Empty where the name is written by a macro. */
static void declaration_at(const Place *place, const char *name, char text[static DECLARATION]) {
    size_t size, length = 0;
    char *file = access(place->file, R_OK) == 0 ? file_read_regular(place->file, &size) : NULL,
         *at = file, opening[64];
    snprintf(opening, sizeof opening, "%s(", name);
    for (long line = 1; at && line < place->line; line++)
        at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    for (int depth = 0; at && *at && *at != '{' && *at != ';' && length + 1 < DECLARATION; at++) {
        const char *close = at[0] == '/' && at[1] == '*' ? strstr(at, "*/") : NULL;
        if (close) at = (char *)close + 1;
        else if (at[0] == '/' && at[1] == '/') at += strcspn(at, "\n") - 1;
        else if (!isspace((unsigned char)*at)) text[length++] = *at;
        else if (length && !strchr(" (", text[length - 1])) text[length++] = ' ';
        depth += (*at == '(') - (*at == ')');
        if (*at == '(' && length > 1 && text[length - 2] == ' ' && depth == 1) {
            text[length - 2] = '(';
            length--;
        } /* silu (int n) */
        if (*at == ')' && depth == 0) break;
    }
    text[length] = '\0';
    if (!strstr(text, opening)) text[0] = '\0';
    blank_control_characters(text);
    free(file);
}

/* The kind of a parameter in a call. ANYTHING: a type of the reader's own, which may be any of
 * them. */
typedef enum { ANYTHING, POINTER, POINTER_TO_DOUBLE, WHOLE_NUMBER, FLOAT, DOUBLE } Kind;

static Kind kind_of(const char *begin, size_t length) {
    static const char *const whole[] = {"int",      "long",   "short", "char",
                                        "unsigned", "signed", "bool",  "size_t"};
    char text[DECLARATION];
    snprintf(text, sizeof text, "%.*s", (int)length, begin);
    bool is_double = strstr(text, "double ");
    if (strpbrk(text, "*[(")) return is_double ? POINTER_TO_DOUBLE : POINTER;
    if (is_double || strstr(text, "float ")) return is_double ? DOUBLE : FLOAT;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strstr(text, whole[i])) return WHOLE_NUMBER;
    return ANYTHING;
}

enum { MOST_PARAMETERS = 64 };

static int read_kinds(const char *declaration, const char *name,
                      Kind kinds[static MOST_PARAMETERS]) {
    const char *begin = strchr(strstr(declaration, name), '(') + 1;
    int count = 0, depth = 1;
    for (const char *at = begin; depth > 0 && *at && count < MOST_PARAMETERS; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth > 1 || (depth == 1 && *at != ',')) continue;
        kinds[count++] = kind_of(begin, (size_t)(at - begin));
        begin = at + 1;
    }
    return count;
}

/* To the compiler they are two types; but a float *out can be called as a float out[rows][dim], and
 * a long as an int. Whom a macro has written, nobody reads here. */
static bool can_be_called_alike(const char *yours, const char *name, const char *courses,
                                const Kernel *kernel) {
    Kind theirs[MOST_PARAMETERS], ours[MOST_PARAMETERS];
    if (!yours[0]) return true;
    if (strncmp(yours, "struct ", 7) == 0) return false;
    int count = read_kinds(yours, name, theirs);
    if (count != read_kinds(courses, kernel->name, ours)) return false;
    for (int p = 0; p < count; p++)
        if (theirs[p] != ours[p] && theirs[p] != ANYTHING && ours[p] != ANYTHING) return false;
    return true;
}

/* An old-style definition, void f(n, x) int n; float x; { … }, has names alone between the
 * brackets. It takes a float as a double, and the compiler does not mind; whoever calls it by the
 * contract passes a float. */
static bool is_old_style(const char *yours, const char *name, const char *courses,
                         const Kernel *kernel) {
    Kind ours[MOST_PARAMETERS];
    bool takes_a_float = false;
    const char *between = yours[0] ? strchr(strstr(yours, name), '(') + 1 : NULL;
    if (!between || strncmp(between, "void)", 5) == 0) return false;
    for (const char *at = between; *at && *at != ')'; at++)
        if (strchr("*[(", *at) || (*at == ' ' && at[-1] != ',')) return false;
    for (int p = read_kinds(courses, kernel->name, ours); p-- > 0;)
        takes_a_float |= ours[p] == FLOAT;
    return takes_a_float;
}

/* ---------------------------------- whose it is */

/* The course's files of kernels have a header beside them; what a reader adds to a chapter's folder
 * has not. The name is what the reader knows it by: chapters/02_activation/activation.c. */
static bool is_courses(const char *file, char name[static PATH_MAX]) {
    char from_root[2 * PATH_MAX], whole[PATH_MAX], root[PATH_MAX];
    snprintf(from_root, sizeof from_root, "%s/%s", ROOT, file);
    if (!realpath(ROOT, root) || !realpath(file[0] == '/' ? file : from_root, whole)) return false;
    size_t length = strlen(root);
    if (strncmp(whole, root, length) != 0 || whole[length] != '/' || !name_ends_in(whole, ".c"))
        return false;
    strcpy(name, whole + length + 1);
    whole[strlen(whole) - 1] = 'h';
    bool is_of_a_room = strncmp(name, "chapters/", 9) == 0 || strncmp(name, "common/", 7) == 0;
    return is_of_a_room && access(whole, R_OK) == 0;
}

/* Can the function of this name, which a message is about, be called as the kernel is? Gives both
 * declarations. */
static bool is_like_the_contract(const char *messages, const char *message, const char *name,
                                 const Kernel *kernel, char yours[static DECLARATION],
                                 char courses[static DECLARATION]) {
    const char *contract = find_message(messages, "contract of", kernel->name);
    Place place;
    if (!contract || !place_of(messages, contract, &place))
        fail("no header of %s declares %s", kernel->chapter, kernel->name);
    declaration_at(&place, kernel->name, courses);
    yours[0] = '\0';
    if (place_of(messages, message, &place)) declaration_at(&place, name, yours);
    return can_be_called_alike(yours, name, courses, kernel);
}

Signature signature_of(const char *messages, const Kernel *kernel, char say[static DIAGNOSIS]) {
    const char *again = find_message(messages, "redefinition of", kernel->name);
    const char *conflict = find_message(messages, "conflicting types for", kernel->name);
    Place place;
    char name[PATH_MAX], yours[DECLARATION], courses[DECLARATION];
    say[0] = '\0';
    if (again && place_of(messages, again, &place) && is_courses(place.file, name)) {
        snprintf(say, DIAGNOSIS, "%s: this is the course's own, from %.400s", kernel->name, name);
        return COURSES_OWN;
    }
    if (!again && !conflict) return NOT_FOUND;
    const char *message = again ? again : conflict;
    bool alike = is_like_the_contract(messages, message, kernel->name, kernel, yours, courses);
    if (is_old_style(yours, kernel->name, courses, kernel)) {
        snprintf(
            say, DIAGNOSIS,
            "%s has an old-style definition, whose types stand behind the brackets: a float is "
            "taken as a double there, and the contract passes a float. Write the types between "
            "the brackets: `%.*s`",
            kernel->name, SHOWN, courses);
        return OTHER_SIGNATURE;
    }
    if (again || alike) return SAME_SIGNATURE;
    place_of(messages, conflict, &place);
    const char *slash = strrchr(place.file, '/');
    snprintf(
        say, DIAGNOSIS,
        "%.40s, line %ld: conflicting types for %.40s: yours is `%.*s%s`; the course's is `%.*s%s`",
        slash ? slash + 1 : place.file, place.line, kernel->name, SHOWN, yours,
        strlen(yours) > SHOWN ? "…" : "", SHOWN, courses, strlen(courses) > SHOWN ? "…" : "");
    return OTHER_SIGNATURE;
}

/* ---------------------------------- what is there, and not found */

/* rmsnorm and RMSNorm are rms_norm, spelled otherwise. */
static bool is_spelled_like(const char *name, const char *other) {
    for (;; name++, other++) {
        while (*name == '_') name++;
        while (*other == '_') other++;
        if (tolower((unsigned char)*name) != tolower((unsigned char)*other)) return false;
        if (!*name) return true;
    }
}

/* my_silu and fast_silu are silu under another name, if they take what silu takes. */
static bool ends_like(const char *name, const char *other) {
    for (const char *tail = strchr(name, '_'); tail; tail = strchr(tail + 1, '_'))
        if (is_spelled_like(tail, other)) return true;
    return false;
}

/* True if a function that others can call is meant as the kernel. A helper whose name only ends
 * like the kernel's is not, if it takes something else. */
static bool is_meant(const char *messages, const char *message, const char *name,
                     const Kernel *kernel) {
    char yours[DECLARATION], courses[DECLARATION];
    if (strcmp(name, kernel->name) == 0) return false;
    if (is_spelled_like(name, kernel->name)) return true;
    return ends_like(name, kernel->name) &&
           is_like_the_contract(messages, message, name, kernel, yours, courses) && yours[0];
}

bool is_hidden(const char *messages, const Kernel *kernel, char say[static DIAGNOSIS]) {
    char name[64];
    say[0] = '\0';
    if (find_message(messages, "redefinition of", kernel->name))
        snprintf(say, DIAGNOSIS,
                 "%s is static, or inline, and other files cannot see it. Remove that word",
                 kernel->name);
    for (const char *at = messages; !say[0] && (at = strstr(at, " no previous prototype for "));
         at++)
        if (sscanf(at + strcspn(at, "'"), "'%63[^']'", name) == 1 &&
            is_meant(messages, at, name, kernel))
            snprintf(say, DIAGNOSIS, "is %s meant as %s? A kernel is found by its name", name,
                     kernel->name);
    return say[0] != '\0';
}
