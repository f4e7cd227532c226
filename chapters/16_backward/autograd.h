/* Chapter 16: automatic differentiation of single numbers, in about a hundred lines. It records
 * every operation of a computation as a node of a graph, and then computes all gradients by one
 * loop. It is slow, and so simple that the hand-written gradients can be checked against it. */
#ifndef AUTOGRAD_H
#define AUTOGRAD_H

/* A number of the computation: an input, or the result of an operation. */
typedef struct {
    double value, gradient;
    int operands;    /* how many numbers it was computed from: 0, 1 or 2 */
    int operand[2];  /* their nodes, which come before this one */
    double slope[2]; /* the derivative of value with respect to each of them */
} Node;

typedef struct {
    int count, capacity;
    Node *nodes;
} Graph;

void graph_free(Graph *graph); /* a new graph is {0} */

/* Each of these appends a node, and returns its index. */
int graph_input(Graph *graph, double value);
int graph_add(Graph *graph, int a, int b);
int graph_multiply(Graph *graph, int a, int b);
int graph_scale(Graph *graph, double factor, int a);   /* factor a */
int graph_power(Graph *graph, int a, double exponent); /* a^exponent */
int graph_exp(Graph *graph, int a);
int graph_log(Graph *graph, int a);

/* The gradient of the node `loss` with respect to every node before it. */
void graph_backward(Graph *graph, int loss);

/* Prints the small graph of the lesson, and a comparison of this chapter's functions with graphs
 * that compute the same. */
void print_small_graph(void);
void print_autograd_check(void);

#endif
