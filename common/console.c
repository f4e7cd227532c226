#include "common/console.h"
#include "common/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void section(const char *format, ...) {
    va_list arguments;
    fputs("\n== ", stdout);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void table_row(Table *table, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    char *row = xrealloc(NULL, size);
    vsnprintf(row, size, format, again);
    va_end(again);
    va_end(arguments);
    table->rows = xrealloc(table->rows, (size_t)(table->count + 1) * sizeof *table->rows);
    table->rows[table->count++] = row;
}

void table_numbers(Table *table, int decimals, int n, const float x[n], const char *format, ...) {
    char name[128], cells[1024] = "";
    size_t length = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    for (int i = 0; i < n && length < sizeof cells; i++) {
        size_t left = sizeof cells - length;
        if (isnan(x[i])) length += (size_t)snprintf(cells + length, left, "|NaN");
        else length += (size_t)snprintf(cells + length, left, "|%.*f", decimals, x[i]);
    }
    table_row(table, "%s%s", name, cells);
}

char *as_cell(char *text) {
    blank_control_characters(text);
    for (char *bar; (bar = strchr(text, '|'));) *bar = '/';
    return text;
}

void progress_bar(size_t done, size_t all, const char *format, ...) {
    static const char bar[] = "########################################";
    int width = sizeof bar - 1, filled = (int)((double)width * (double)done / (double)all);
    va_list arguments;
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r[%.*s%*s] ", filled, bar, width - filled, "");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (done == all) fputc('\n', stderr);
}

enum { MAX_COLUMNS = 32 };

/* Letters, not bytes: "×" takes one column of the terminal and two bytes of UTF-8. */
static int letters(const char *text, int bytes) {
    int count = 0;
    for (int i = 0; i < bytes; i++) count += (text[i] & 0xc0) != 0x80;
    return count;
}

/* The next cell of a row, and its bytes; NULL after the last. */
static const char *next_cell(const char **rest, int *bytes) {
    const char *cell = *rest;
    if (!cell) return NULL;
    *bytes = (int)strcspn(cell, "|");
    *rest = cell[*bytes] ? cell + *bytes + 1 : NULL;
    return cell;
}

void table_print(Table *table, FILE *file) {
    int width[MAX_COLUMNS] = {0}, bytes;
    bool left[MAX_COLUMNS] = {true};
    for (int r = 0; r < table->count; r++) {
        const char *rest = table->rows[r], *cell;
        for (int c = 0; c < MAX_COLUMNS && (cell = next_cell(&rest, &bytes)); c++) {
            if (r == 0 && *cell == '<') left[c] = true;
            int wide = letters(cell, bytes) - (r == 0 && *cell == '<');
            if (wide > width[c]) width[c] = wide;
        }
    }
    for (int r = 0; r < table->count; r++) {
        const char *rest = table->rows[r], *cell;
        for (int c = 0; c < MAX_COLUMNS && (cell = next_cell(&rest, &bytes)); c++) {
            if (r == 0 && *cell == '<') {
                cell++;
                bytes--;
            }
            if (cell[strspn(cell, "|")] == '\0') break; /* only empty cells: no blanks at the end */
            int blanks = width[c] - letters(cell, bytes);
            const char *gap = c ? "   " : "  ";
            if (left[c]) fprintf(file, "%s%.*s%*s", gap, bytes, cell, rest ? blanks : 0, "");
            else fprintf(file, "   %*s%.*s", blanks, "", bytes, cell);
        }
        fputc('\n', file);
        free(table->rows[r]);
    }
    free(table->rows);
    *table = (Table){0};
}

Output data_open(const char *directory, const char *name, const char *columns) {
    char path[4096];
    mkdir(directory, 0777); /* if it cannot be made, output_open says why */
    snprintf(path, sizeof path, "%s/%s.dat", directory, name);
    Output output = output_open(path);
    fprintf(output.file, "# %s\n", columns);
    return output;
}
