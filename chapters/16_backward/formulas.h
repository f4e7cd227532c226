/* Chapter 16: every operation's gradient by its formula, and under it by nudging each number a
 * little, up and down. */
#ifndef FORMULAS_H
#define FORMULAS_H

void print_formulas(void);

#endif
