/* The output of programs: sections and tables; and the .dat files that gnuplot draws. */
#ifndef COMMON_CONSOLE_H
#define COMMON_CONSOLE_H

#include "common/output.h"

#include <stddef.h>

/* "\n== Title\n": lessons quote a program's output by section. */
void section(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A table: each row is one printf whose cells are separated by '|'. The first row is the header.
 * Columns are as wide as their widest cell. The first column is flush left, and so is one whose
 * header begins with '<'; the others are flush right.
 *
 *     Table table = {0};
 *     table_row(&table, "case|shape|worst error");
 *     table_row(&table, "%s|%s|%.1e", name, shape, worst);
 *     table_print(&table, stdout);                              prints, and empties the table */
typedef struct {
    int count;
    char **rows;
} Table;

void table_row(Table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_print(Table *table, FILE *file);

/* A row whose first cell is a printf, and then n numbers with that many decimals; NaN has no sign,
 * because machines differ about it. */
void table_numbers(Table *table, int decimals, int n, const float x[n], const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Makes a text that is not ours, such as a file's name, fit for a cell: '|' would end it. */
char *as_cell(char *text);

/* On a terminal, a bar that shows how much of `all` is done, followed by printf's text. */
void progress_bar(size_t done, size_t all, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens directory/name.dat for writing and gives it a first line "# columns". Close it with
 * output_close. */
Output data_open(const char *directory, const char *name, const char *columns);

#endif
