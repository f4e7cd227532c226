#include "16_backward/autograd.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>

static int append(Graph *g, Node node) {
    if (g->count == g->capacity) {
        g->capacity = g->capacity ? 2 * g->capacity : 64;
        g->nodes = xrealloc(g->nodes, (size_t)g->capacity * sizeof *g->nodes);
    }
    g->nodes[g->count] = node;
    return g->count++;
}

void graph_free(Graph *g) {
    free(g->nodes);
    *g = (Graph){0};
}

static double value_of(const Graph *g, int node) { return g->nodes[node].value; }

/* A node that was computed from one number. */
static int unary(Graph *g, double value, int a, double slope) {
    return append(g, (Node){.value = value, .operands = 1, .operand = {a}, .slope = {slope}});
}

int graph_input(Graph *g, double value) { return append(g, (Node){.value = value}); }

int graph_add(Graph *g, int a, int b) {
    return append(g, (Node){.value = value_of(g, a) + value_of(g, b),
                            .operands = 2,
                            .operand = {a, b},
                            .slope = {1, 1}});
}

int graph_multiply(Graph *g, int a, int b) {
    double x = value_of(g, a), y = value_of(g, b);
    return append(g, (Node){.value = x * y, .operands = 2, .operand = {a, b}, .slope = {y, x}});
}

int graph_scale(Graph *g, double factor, int a) {
    return unary(g, factor * value_of(g, a), a, factor);
}

int graph_power(Graph *g, int a, double exponent) {
    double x = value_of(g, a);
    return unary(g, pow(x, exponent), a, exponent * pow(x, exponent - 1));
}

int graph_exp(Graph *g, int a) {
    double value = exp(value_of(g, a));
    return unary(g, value, a, value);
}

int graph_log(Graph *g, int a) {
    double x = value_of(g, a);
    return unary(g, log(x), a, 1 / x);
}

void graph_backward(Graph *g, int loss) {
    for (int n = 0; n < g->count; n++) g->nodes[n].gradient = 0;
    g->nodes[loss].gradient = 1;
    for (int n = loss; n >= 0; n--) {
        const Node *node = &g->nodes[n];
        for (int i = 0; i < node->operands; i++)
            g->nodes[node->operand[i]].gradient += node->gradient * node->slope[i];
    }
}
