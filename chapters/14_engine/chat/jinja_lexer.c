/* Source text → tokens. White space is stripped here: where a `-` asks for it, before a statement
 * or a comment that begins its line (lstrip_blocks), and the end of the line after one
 * (trim_blocks). */
#include "14_engine/chat/jinja_internal.h"

#include <ctype.h>
#include <string.h>

static bool is_space(char c) { return c && strchr(" \t\n\v\f\r", c); }

static void move_to(Lexer *lexer, const char *to) {
    for (; lexer->at < to; lexer->at++) lexer->line += *lexer->at == '\n';
}

static Token token_to(Lexer *lexer, TokenKind kind, const char *end) {
    Token token = {kind, lexer->line, lexer->at, (size_t)(end - lexer->at)};
    move_to(lexer, end);
    return token;
}

/* ------------------------------------------------------------------ outside braces */

static const char *find_braces(const char *at) {
    while (*at && !(*at == '{' && at[1] && strchr("{%#", at[1]))) at++;
    return at;
}

/* The end of the text before braces, without the white space that they strip. */
static const char *text_end(const Lexer *lexer, const char *braces) {
    const char *start = lexer->at, *end = braces, *line = braces;
    if (!*braces) return braces;
    if (braces[2] == '-') {
        while (end > start && is_space(end[-1])) end--;
        return end;
    }
    while (line > start && (line[-1] == ' ' || line[-1] == '\t')) line--;
    const bool begins_line = line == lexer->source || line[-1] == '\n';
    return begins_line && braces[1] != '{' && braces[2] != '+' ? line : braces;
}

/* Skips what the end of braces strips: all white space, or, after a statement or a comment, the end
 * of the line. */
static void strip_after(Lexer *lexer, bool strips, bool trims) {
    const char *to = lexer->at;
    while (strips && is_space(*to)) to++;
    if (!strips && trims && *to == '\n') to++;
    move_to(lexer, to);
}

/* Returns false for a comment without its end. */
static bool skip_comment(Lexer *lexer) {
    const char *text = lexer->at + 2;
    if (*text == '-' || *text == '+') text++;
    const char *end = strstr(text, "#}");
    if (!end) return false;
    move_to(lexer, end + 2);
    strip_after(lexer, end > text && end[-1] == '-', true);
    return true;
}

static Token open_braces(Lexer *lexer) {
    const bool output = lexer->at[1] == '{';
    const char *end = lexer->at + 2;
    if (*end == '-' || (*end == '+' && !output)) end++;
    lexer->close = output ? "}}" : "%}";
    lexer->depth = 0;
    return token_to(lexer, output ? TOKEN_OPEN_OUTPUT : TOKEN_OPEN_STATEMENT, end);
}

static Token outside_token(Lexer *lexer) {
    for (;;) {
        const char *braces = find_braces(lexer->at), *end = text_end(lexer, braces);
        if (end > lexer->at) {
            Token text = token_to(lexer, TOKEN_TEXT, end);
            move_to(lexer, braces);
            return text;
        }
        move_to(lexer, braces);
        if (!*braces) return token_to(lexer, TOKEN_END, braces);
        if (braces[1] != '#') return open_braces(lexer);
        if (!skip_comment(lexer))
            return token_to(lexer, TOKEN_OPEN_COMMENT, lexer->at + strlen(lexer->at));
    }
}

/* ------------------------------------------------------------------ inside braces */

bool jinja_unescape(char quoted, char *meant) {
    static const char escapes[][2] = {{'n', '\n'},  {'t', '\t'},  {'r', '\r'},
                                      {'\\', '\\'}, {'\'', '\''}, {'"', '"'}};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        if (escapes[i][0] != quoted) continue;
        *meant = escapes[i][1];
        return true;
    }
    return false;
}

static Token string_token(Lexer *lexer) {
    const char quote = *lexer->at, *end = lexer->at + 1, *bad = NULL;
    char meant;
    for (; *end && *end != quote; end++) {
        if (*end != '\\' || !end[1]) continue;
        if (!bad && !jinja_unescape(end[1], &meant)) bad = end;
        end++;
    }
    if (!*end) return token_to(lexer, TOKEN_OPEN_STRING, end);
    Token token = token_to(lexer, TOKEN_STRING, end + 1);
    if (bad) token = (Token){TOKEN_BAD_ESCAPE, token.line, bad, 2};
    return token;
}

static const char *name_end(const char *at) {
    while (isalnum((unsigned char)*at) || *at == '_') at++;
    return at;
}

static const char *digits_end(const char *at) {
    while (isdigit((unsigned char)*at)) at++;
    return at;
}

static const char *sign_end(const char *at) {
    const bool two = at[1] == '=' && strchr("=!<>", *at);
    return at + (two ? 2 : 1);
}

/* Brackets that are open hide the end of the braces: {{ {'a': {}} }}. */
static Token inside_token(Lexer *lexer) {
    move_to(lexer, lexer->at + strspn(lexer->at, " \t\r\n"));
    const char *at = lexer->at;
    if (!*at) return token_to(lexer, TOKEN_END, at);
    if (lexer->depth == 0 && strncmp(at + (*at == '-'), lexer->close, 2) == 0) {
        const bool strips = *at == '-', trims = *lexer->close == '%';
        Token close = token_to(lexer, TOKEN_CLOSE, at + strips + 2);
        lexer->close = NULL;
        strip_after(lexer, strips, trims);
        return close;
    }
    if (*at == '\'' || *at == '"') return string_token(lexer);
    if (isdigit((unsigned char)*at)) return token_to(lexer, TOKEN_NUMBER, digits_end(at));
    if (isalpha((unsigned char)*at) || *at == '_') return token_to(lexer, TOKEN_NAME, name_end(at));
    if (strchr("([{", *at)) lexer->depth++;
    if (strchr(")]}", *at)) lexer->depth--;
    return token_to(lexer, TOKEN_SIGN, sign_end(at));
}

Token jinja_next_token(Lexer *lexer) {
    return lexer->close ? inside_token(lexer) : outside_token(lexer);
}
