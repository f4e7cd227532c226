#include "tests/judge/signature.h"
#include "common/error.h"
#include "common/file.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ C in tokens */

typedef struct {
    const char *text;
    size_t length;
} Token;

/* Where reading has come to, and in which file that stood before the preprocessor brought all together. */
typedef struct {
    const char *at;
    Token file; /* between the quotes of the last line marker */
    bool line_begins;
} Source;

static bool is(Token token, const char *word) {
    return strlen(word) == token.length && memcmp(token.text, word, token.length) == 0;
}
static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80; }
static bool is_name(Token token) {
    return token.length && is_letter(token.text[0]) && !isdigit((unsigned char)token.text[0]);
}

static bool is_one_of(Token token, const char *const words[]) {
    for (; *words; words++)
        if (is(token, *words)) return true;
    return false;
}

/* Behind the quote that ends a text; behind the line, if none does. */
static const char *end_of_quoted(const char *at) {
    char quote = *at++;
    while (*at && *at != quote && *at != '\n') at += at[0] == '\\' && at[1] ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* A line marker, # 12 "file", says where the next line stood; of other directives nothing is wanted. */
static void read_directive(Source *source) {
    const char *at = source->at + 1;
    while (*at == ' ' || *at == '\t') at++;
    bool is_marker = isdigit((unsigned char)*at) || strncmp(at, "line", 4) == 0;
    for (; *at && *at != '\n'; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '"') {
            const char *end = end_of_quoted(at);
            if (is_marker) source->file = (Token){at + 1, (size_t)(end - at) - (end[-1] == '"' && end > at + 1) - 1};
            at = end - 1;
        }
    }
    source->at = at;
}

static void skip_blanks(Source *source) {
    for (;; source->at++) {
        const char *at = source->at;
        if (*at == '\n')
            source->line_begins = true;
        else if (*at == '#' && source->line_begins) {
            read_directive(source);
            source->at--;
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            source->at = end ? end + 1 : at + strlen(at) - 1;
        } else if (at[0] == '/' && at[1] == '/')
            source->at += strcspn(at, "\n") - 1;
        else if (!*at || !isspace((unsigned char)*at))
            return;
    }
}

/* A name, a number, a text in quotes, [[ or ]], or a single character. False at the end. */
static bool next_token(Source *source, Token *token) {
    skip_blanks(source);
    const char *begin = source->at, *end = begin;
    if (!*begin) return false;
    if (*begin == '"' || *begin == '\'')
        end = end_of_quoted(begin);
    else if (is_letter(*begin))
        while (is_letter(*end) || (*end == '\'' && isdigit((unsigned char)*begin) && is_letter(end[1])))
            end++; /* 1'000 */
    else
        end += (begin[0] == '[' && begin[1] == '[') || (begin[0] == ']' && begin[1] == ']') ? 2 : 1;
    *token = (Token){begin, (size_t)(end - begin)};
    source->at = end, source->line_begins = false;
    return true;
}

/* Behind what closes the bracket that was just read. */
static void skip_group(Source *source, const char *open, const char *close) {
    Token token;
    for (int depth = 1; depth > 0 && next_token(source, &token);) depth += is(token, open) - is(token, close);
}

/* ------------------------------------------------------------------ declarations at file level */

/* "void silu(int n, float out[n], const float x[n])", in tokens, without attributes. */
typedef struct {
    size_t count, room;
    Token *token;
    Token file;
    bool has_body;
} Declaration;

static void push(Declaration *declaration, Token token) {
    if (declaration->count == declaration->room) {
        declaration->room = declaration->room ? 2 * declaration->room : 64;
        declaration->token = reallocate(declaration->token, declaration->room * sizeof token);
    }
    declaration->token[declaration->count++] = token;
}

static bool token_is(const Declaration *declaration, size_t i, const char *word) {
    return i < declaration->count && is(declaration->token[i], word);
}

/* The index of the bracket that closes the one at `open`, or the count. */
static size_t closing(const Declaration *declaration, size_t open) {
    size_t i = open;
    for (int depth = 0; i < declaration->count; i++) {
        depth += token_is(declaration, i, "(") - token_is(declaration, i, ")");
        if (depth == 0) break;
    }
    return i;
}

static bool has_initializer(const Declaration *declaration) {
    int depth = 0;
    for (size_t i = 0; i < declaration->count; i++) {
        depth += token_is(declaration, i, "(") - token_is(declaration, i, ")");
        if (depth == 0 && token_is(declaration, i, "=")) return true;
    }
    return false;
}

/* void silu(n, out, x) int n; float *out, *x; { … }: the oldest style, in which the types stand behind. */
static bool is_of_the_oldest_style(const Declaration *declaration) {
    static const char *const not_functions[] = {"typeof", "__typeof__", "__typeof", "typeof_unqual", "_Atomic", NULL};
    for (size_t open = 1; open < declaration->count; open++) {
        if (!token_is(declaration, open, "(")) continue;
        if (!is_name(declaration->token[open - 1]) || is_one_of(declaration->token[open - 1], not_functions))
            return false;
        size_t close = closing(declaration, open);
        for (size_t i = open + 1; i < close; i++)
            if (!is_name(declaration->token[i]) && !token_is(declaration, i, ",")) return false;
        return close + 1 < declaration->count && is_name(declaration->token[close + 1]);
    }
    return false;
}

static bool begins_a_body(const Declaration *declaration) {
    bool behind_parameters = declaration->count && token_is(declaration, declaration->count - 1, ")");
    return !has_initializer(declaration) && (behind_parameters || is_of_the_oldest_style(declaration));
}

/* __attribute__((…)), alignas(16), asm("name"), [[gnu::hot]]: nothing that a caller sees. */
static bool skip_attribute(Source *source, Token token) {
    static const char *const with_brackets[] = {"__attribute__", "__attribute", "__declspec", "_Alignas", "alignas",
                                                "asm",           "__asm__",     "__asm",      NULL};
    if (is(token, "[[")) return skip_group(source, "[[", "]]"), true;
    if (!is_one_of(token, with_brackets)) return is(token, "__extension__");
    Source ahead = *source;
    if (next_token(&ahead, &token) && is(token, "(")) *source = ahead, skip_group(source, "(", ")");
    return true;
}

/* The next declaration, or definition, whose body is passed over. False at the end. */
static bool next_declaration(Source *source, Declaration *declaration) {
    Token token;
    int depth = 0;
    declaration->count = 0, declaration->has_body = false;
    while (next_token(source, &token)) {
        declaration->file = source->file;
        if (skip_attribute(source, token)) continue;
        depth += is(token, "(") - is(token, ")");
        if (is(token, ";") && depth <= 0 && !is_of_the_oldest_style(declaration)) return true;
        if (is(token, "}"))
            declaration->count = 0, depth = 0; /* the end of extern "C" { */
        else if (!is(token, "{"))
            push(declaration, token);
        else if (declaration->count == 2 && token_is(declaration, 0, "extern") && declaration->token[1].text[0] == '"')
            declaration->count = 0;
        else {
            declaration->has_body = begins_a_body(declaration);
            skip_group(source, "{", "}");
            if (declaration->has_body) return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ what a caller sees of a function */

/* What an argument is in a call. ANYTHING: a type of the reader's own, which may be any of them. */
typedef enum { ANYTHING, NOTHING, POINTER, POINTER_TO_DOUBLE, WHOLE_NUMBER, FLOAT, DOUBLE, OTHER } Kind;

enum { MOST_PARAMETERS = 64 };

typedef struct {
    Kind result, parameter[MOST_PARAMETERS];
    int count; /* of parameters */
    bool is_static, is_inline;
    size_t end; /* the token that closes the parameters */
} Shape;

static Kind kind_of(size_t count, const Token tokens[count]) {
    static const char *const whole[] = {"char",  "short", "int",  "long",     "signed", "unsigned",
                                        "_Bool", "bool",  "enum", "__int128", NULL};
    static const char *const other[] = {"struct", "union", "_Complex", "__complex__", "_Float16", "__fp16", ".", NULL};
    bool is_pointer = false, is_whole = false, is_float = false, is_double = false, is_other = false, is_void = false,
         is_long = false;
    for (size_t i = 0; i < count; i++) {
        bool is_array = is(tokens[i], "[") || is(tokens[i], "(");
        is_pointer |= is_array || is(tokens[i], "*");
        if (is_array) break; /* behind it stand a size, or another function's parameters */
        is_whole |= is_one_of(tokens[i], whole), is_other |= is_one_of(tokens[i], other),
            is_long |= is(tokens[i], "long");
        is_float |= is(tokens[i], "float"), is_double |= is(tokens[i], "double"), is_void |= is(tokens[i], "void");
    }
    if (is_pointer) return is_double ? POINTER_TO_DOUBLE : POINTER;
    if (is_other || (is_double && is_long)) return OTHER;
    return is_float ? FLOAT : is_double ? DOUBLE : is_whole ? WHOLE_NUMBER : is_void ? NOTHING : ANYTHING;
}

/* Are the brackets before the name its own, as in void (*silu(int n))(void), and not those of another's parameters? */
static bool is_declarator(const Declaration *declaration, size_t name) {
    int depth = 0;
    for (size_t i = name; i-- > 0;) {
        depth += token_is(declaration, i, ")") - token_is(declaration, i, "(");
        if (depth >= 0) continue;
        if (i + 1 != name && !token_is(declaration, i + 1, "*") && !token_is(declaration, i + 1, "(")) return false;
        depth = 0;
    }
    return true;
}

/* Where the name is declared as a function, and where its parameters open. */
static bool find_function(const Declaration *declaration, const char *name, size_t *at, size_t *open) {
    for (*at = 0; *at < declaration->count && !token_is(declaration, *at, "="); ++*at) {
        if (!token_is(declaration, *at, name)) continue;
        *open = *at + 1;
        while (token_is(declaration, *open, ")")) ++*open;
        if (token_is(declaration, *open, "(") && is_declarator(declaration, *at)) return true;
    }
    return false;
}

static void read_parameters(const Declaration *declaration, size_t open, Shape *shape) {
    size_t begin = open + 1, close = closing(declaration, open);
    int depth = 0;
    for (size_t i = begin; i <= close && i < declaration->count; i++) {
        bool ends = i == close || (depth == 0 && token_is(declaration, i, ","));
        depth += token_is(declaration, i, "(") - token_is(declaration, i, ")");
        if (!ends) continue;
        Kind kind = kind_of(i - begin, declaration->token + begin);
        bool is_none = i == close && shape->count == 0 && (kind == NOTHING || i == begin);
        if (!is_none && shape->count < MOST_PARAMETERS) shape->parameter[shape->count++] = kind;
        begin = i + 1;
    }
    shape->end = close;
}

/* The function of this name, if that is what is declared. */
static bool read_shape(const Declaration *declaration, const char *name, Shape *shape) {
    static const char *const before_the_type[] = {"extern", "inline", "__inline", "__inline__", "_Noreturn", NULL};
    size_t at, open, begin = 0;
    if (token_is(declaration, 0, "typedef") || !find_function(declaration, name, &at, &open)) return false;
    *shape = (Shape){0};
    for (size_t i = 0; i < at; i++) {
        shape->is_static |= token_is(declaration, i, "static");
        shape->is_inline |= token_is(declaration, i, "inline");
    }
    while (begin < at && is_one_of(declaration->token[begin], before_the_type)) begin++;
    while (at > begin && token_is(declaration, at - 1, "(")) at--; /* (silu)(int n, …) */
    shape->result = at == begin ? WHOLE_NUMBER : kind_of(at - begin, declaration->token + begin);
    read_parameters(declaration, open, shape);
    return true;
}

static bool agrees(Kind one, Kind other) { return one == other || one == ANYTHING || other == ANYTHING; }

/* Can the one be called as the other? A result that nobody wants does no harm, if it comes in a register. */
static bool same_shapes(const Shape *theirs, const Shape *ours) {
    bool same = theirs->count == ours->count;
    for (int p = 0; same && p < ours->count; p++) same = agrees(theirs->parameter[p], ours->parameter[p]);
    return same && (agrees(theirs->result, ours->result) || (ours->result == NOTHING && theirs->result != OTHER));
}

/* ------------------------------------------------------------------ in words */

enum { SHAPE_WORDS = 240 };

/* "void silu(int n, float out[n], const float x[n])"; what is too long ends in "…". */
static char *shape_words(char words[static SHAPE_WORDS], const Declaration *declaration, size_t end) {
    size_t length = 0;
    for (size_t i = 0; i <= end && i < declaration->count; i++) {
        Token token = declaration->token[i];
        bool is_tight = i == 0 || strchr(",)[];.", token.text[0]) ||
                        strchr("([*.", declaration->token[i - 1].text[0]) ||
                        (token.text[0] == '(' && is_name(declaration->token[i - 1]));
        if (length + token.length + 1 + strlen("…") >= SHAPE_WORDS) {
            length += (size_t)sprintf(words + length, "…");
            break;
        }
        length += (size_t)sprintf(words + length, "%s%.*s", is_tight ? "" : " ", (int)token.length, token.text);
    }
    words[length] = '\0';
    blank_control_characters(words);
    return words;
}

/* ------------------------------------------------------------------ whose it is */

/* The bytes of a line marker's file name: quotes and backslashes have a backslash before them, others may be \303. */
static void plain_name(Token file, char name[static PATH_MAX]) {
    size_t length = 0;
    for (size_t i = 0; i < file.length && length + 1 < PATH_MAX; i++) {
        char c = file.text[i];
        unsigned octal;
        if (c == '\\' && i + 3 < file.length && sscanf(file.text + i + 1, "%3o", &octal) == 1)
            c = (char)octal, i += 3;
        else if (c == '\\' && i + 1 < file.length)
            c = file.text[++i];
        name[length++] = c;
    }
    name[length] = '\0';
}

/* The course's files of kernels have a header beside them; what a reader adds to a chapter's folder has not. The name
 * is what the reader knows it by: chapters/02_activation/activation.c. */
static bool is_courses(Token file, char name[static PATH_MAX]) {
    char written[PATH_MAX], from_root[2 * PATH_MAX], whole[PATH_MAX], root[PATH_MAX];
    plain_name(file, written);
    snprintf(from_root, sizeof from_root, "%s/%s", ROOT, written);
    if (!realpath(ROOT, root) || !realpath(written[0] == '/' ? written : from_root, whole)) return false;
    size_t length = strlen(root);
    if (strncmp(whole, root, length) != 0 || whole[length] != '/' || !name_ends_in(whole, ".c")) return false;
    strcpy(name, whole + length + 1);
    whole[strlen(whole) - 1] = 'h';
    bool is_of_a_room = strncmp(name, "chapters/", 9) == 0 || strncmp(name, "common/", 7) == 0;
    return is_of_a_room && access(whole, R_OK) == 0;
}

/* ------------------------------------------------------------------ the verdict */

/* The text of all headers in the kernel's folder: one of them has its contract. The caller frees. */
static char *headers_of(const Kernel *kernel) {
    char folder[PATH_MAX], path[2 * PATH_MAX];
    bool is_common = strcmp(kernel->chapter, "common") == 0;
    snprintf(folder, sizeof folder, "%s/%s%s", ROOT, is_common ? "" : "chapters/", kernel->chapter);
    DIR *directory = opendir(folder);
    if (!directory) fail("cannot read the folder %s", folder);
    char *all = copy_text("", 0);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".h") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t length, before = strlen(all);
        char *text = file_read(path, &length);
        all = reallocate(all, before + length + 2);
        sprintf(all + before, "%s\n", text);
        free(text);
    }
    closedir(directory);
    return all;
}

/* The first declaration of the name, or the first definition of a function that others can call: one that was declared
 * static before is not. */
static bool find_declaration(const char *text, const char *name, bool with_body, Declaration *found, Shape *shape) {
    Source source = {.at = text, .line_begins = true};
    bool is_static = false;
    while (next_declaration(&source, found)) {
        if (!read_shape(found, name, shape)) continue;
        is_static |= shape->is_static;
        if (!is_static && found->has_body >= with_body) return true;
    }
    return false;
}

/* The course's own declaration. The caller frees the text that it lies in. */
static char *contract_of(const Kernel *kernel, Declaration *ours, Shape *shape) {
    char *headers = headers_of(kernel);
    if (!find_declaration(headers, kernel->name, false, ours, shape))
        fail("no header of %s declares %s", kernel->chapter, kernel->name);
    return headers;
}

Signature signature_of(const char *preprocessed, const Kernel *kernel, char say[static DIAGNOSIS]) {
    Declaration theirs = {0}, ours = {0};
    Shape their_shape, our_shape;
    char file[PATH_MAX], yours[SHAPE_WORDS], courses[SHAPE_WORDS], *headers = contract_of(kernel, &ours, &our_shape);
    Signature signature = SAME_SIGNATURE;
    say[0] = '\0';
    if (!find_declaration(preprocessed, kernel->name, true, &theirs, &their_shape))
        signature = NOT_FOUND;
    else if (is_courses(theirs.file, file)) {
        signature = COURSES_OWN;
        snprintf(say, DIAGNOSIS, "%s: this is the course's own, from %.400s", kernel->name, file);
    } else if (!same_shapes(&their_shape, &our_shape)) {
        signature = OTHER_SIGNATURE;
        snprintf(say, DIAGNOSIS, "%s: yours is `%s`; the course's is `%s`", kernel->name,
                 shape_words(yours, &theirs, their_shape.end), shape_words(courses, &ours, our_shape.end));
    }
    free(theirs.token), free(ours.token), free(headers);
    return signature;
}

/* ------------------------------------------------------------------ what is there, and not found */

enum { FUNCTION_NAME = 64 };

/* The name of the function that is declared; "" if it is none, or has a longer one. */
static void function_name(const Declaration *declaration, char name[static FUNCTION_NAME]) {
    name[0] = '\0';
    for (size_t i = 0; i + 1 < declaration->count && !token_is(declaration, i, "="); i++) {
        Token token = declaration->token[i];
        if (!is_name(token) || !token_is(declaration, i + 1, "(") || !is_declarator(declaration, i)) continue;
        if (token.length < FUNCTION_NAME) snprintf(name, FUNCTION_NAME, "%.*s", (int)token.length, token.text);
        return;
    }
}

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

bool is_hidden(const char *preprocessed, const Kernel *kernel, char say[static DIAGNOSIS]) {
    Declaration theirs = {0}, ours = {0};
    Shape their_shape, our_shape;
    char name[FUNCTION_NAME], *headers = contract_of(kernel, &ours, &our_shape);
    Source source = {.at = preprocessed, .line_begins = true};
    say[0] = '\0';
    while (!say[0] && next_declaration(&source, &theirs)) {
        function_name(&theirs, name);
        bool is_spelled = is_spelled_like(name, kernel->name);
        bool is_meant = theirs.has_body && (is_spelled || ends_like(name, kernel->name));
        if (!is_meant || !read_shape(&theirs, name, &their_shape)) continue;
        bool is_same = same_shapes(&their_shape, &our_shape); /* a helper of other arguments may be what it likes */
        if (strcmp(name, kernel->name) != 0 && (is_spelled || is_same))
            snprintf(say, DIAGNOSIS, "is %s meant as %s? A kernel is found by its name", name, kernel->name);
        else if (is_same && their_shape.is_static)
            snprintf(say, DIAGNOSIS, "%s is static, and other files cannot see it. Remove static", name);
        else if (is_same && their_shape.is_inline)
            snprintf(say, DIAGNOSIS, "%s is inline, and so has no place of its own in a library. Remove inline", name);
    }
    free(theirs.token), free(ours.token), free(headers);
    return say[0] != '\0';
}
