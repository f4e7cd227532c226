/* The rules that name a mistake where none that is stored explains the answers. Each knows one
 * trace that mistakes leave, and describes it with advice. It holds for every failing case, or for
 * all that can tell, and contradicts none that passes.
 *
 * They are asked of evidence in which something is wrong. */
#ifndef VERIFY_RULES_H
#define VERIFY_RULES_H

#include "tests/judge/evidence.h"

typedef bool Rule(const Evidence *evidence, char say[static DIAGNOSIS]);

/* The output is another known one, diagnose_value.c: */
Rule is_another_known_output; /* everywhere */
Rule is_partly_an_input;      /* where it is wrong */
Rule comes_to_nothing;        /* 0, where something should be */
Rule steps_by_another_length; /* Muon's, along the right direction */
Rule adds_to_the_sum;         /* a softmax whose rows do not sum to 1 */

/* It differs by a scale or a rounding, diagnose_scale.c: */
Rule is_multiplied, is_added_to;                 /* the right one times, or plus, one number */
Rule is_multiplied_by_rows, is_added_to_by_rows; /* and one a row */
Rule is_rounded_otherwise, is_an_approximation, is_less_exact; /* nearly right */
Rule is_zero_where_wrong;
Rule is_another_formula; /* diagnose_formula.c */
Rule misreads_blocks; /* of quantized numbers */

/* It is wrong in certain places, cases or numbers, diagnose_position.c: */
Rule shows_a_mark; /* of the sandbox: what was read there */
Rule leaves_numbers_unwritten;
Rule begins_at_a_stage;      /* of the residual stream */
Rule is_wrong_in_one_place;  /* the last row, every head but the first, … */
Rule is_wrong_in_some_steps; /* of one case: rows 8 to 11 */
Rule fails_after_some_steps;
Rule is_wrong_for_special_numbers, overflows; /* by what goes in */
Rule keeps_the_wrong_tokens, changes_the_logits,
    misplaces_a_mask; /* where -infinity means "ruled out" */

/* A query attends to the wrong keys, diagnose_attention.c: */
Rule reads_another_head, sees_other_keys, scales_the_scores, bends_the_scores;

/* For all: what is said, an axis of the output, a size of a case. */
__attribute__((format(printf, 2, 3))) bool say_it(char say[static DIAGNOSIS], const char *format,
                                                  ...); /* true */

enum { WHERE = SHAPE_TEXT + 64, NAME = 64 };
char *where_text(char text[static WHERE], const Answer *answer,
                 size_t index); /* "[0, 3] of case ragged" */

typedef struct {
    size_t size, inner; /* steps, and how many numbers each has */
} Axis;

Axis axis_of(const Answer *answer, int axis);
size_t step_of(Axis axis, size_t index);
const char *axis_name(const Answer *answer,
                      int axis); /* what a step is called: "token", "head", "row", … */
int rank_of(const Evidence *evidence);

/* The first dimension or the last of a case's array, or of its output if the name is NULL; 0 if it
 * has none. */
size_t size_of(const Answer *answer, const char *input, bool first);

#endif
