/* Chapter 16: the hand-written gradients beside those of autograd.c. Each operation is built once
 * more from additions, products, powers, exponentials and logarithms of single numbers. */
#include "16_backward/autograd.h"
#include "16_backward/backward.h"
#include "common/console.h"
#include "common/random.h"

#include <math.h>
#include <string.h>

void print_small_graph(void) {
    Graph g = {0};
    int x = graph_input(&g, 3), one = graph_input(&g, 1);
    int a = graph_scale(&g, 2, x), b = graph_add(&g, x, one), loss = graph_multiply(&g, a, b);
    graph_backward(&g, loss);
    const struct {
        const char *name;
        int node;
    } shown[] = {{"x", x}, {"a = 2 x", a}, {"b = x + 1", b}, {"loss = a b", loss}};
    Table table = {0};
    table_row(&table, "node|value|gradient");
    for (int i = 0; i < 4; i++)
        table_row(&table, "%s|%g|%g", shown[i].name, g.nodes[shown[i].node].value,
                  g.nodes[shown[i].node].gradient);
    table_print(&table, stdout);
    graph_free(&g);
}

/* ------------------------------------------------------------------ building blocks */

static void draw(Random *random, int n, float *x) {
    for (int i = 0; i < n; i++) x[i] = (float)random_normal(random);
}

static void inputs(Graph *g, int n, int *nodes, const float *x) {
    for (int i = 0; i < n; i++) nodes[i] = graph_input(g, x[i]);
}

static int dot(Graph *g, int n, const int a[n], const int b[n]) {
    int sum = graph_multiply(g, a[0], b[0]);
    for (int i = 1; i < n; i++) sum = graph_add(g, sum, graph_multiply(g, a[i], b[i]));
    return sum;
}

/* The loss whose gradient with respect to y is dy. */
static int loss_of(Graph *g, int n, const int *y, const float *dy) {
    int d[n];
    inputs(g, n, d, dy);
    return dot(g, n, y, d);
}

static void softmax_nodes(Graph *g, int n, int p[n], const int x[n]) {
    int sum = p[0] = graph_exp(g, x[0]);
    for (int i = 1; i < n; i++) sum = graph_add(g, sum, p[i] = graph_exp(g, x[i]));
    int inverse = graph_power(g, sum, -1);
    for (int i = 0; i < n; i++) p[i] = graph_multiply(g, p[i], inverse);
}

/* ------------------------------------------------------------------ the comparison */

static double farthest(const Graph *g, int n, const int *nodes, const float *gradient) {
    double far = 0;
    for (int i = 0; i < n; i++) far = fmax(far, fabs(g->nodes[nodes[i]].gradient - gradient[i]));
    return far;
}

static void check_row(Table *table, const char *name, const Graph *g, int gradients, double far) {
    table_row(table, "%s|%d|%d|%s", name, g->count, gradients, far < 1e-6 ? "yes" : "NO");
}

static void check_cross_entropy(Table *table, Random *random) {
    enum { V = 5, TARGET = 2 };
    Graph g = {0};
    float logits[1][V], dlogits[1][V] = {{0}};
    int z[V], p[V];
    draw(random, V, logits[0]);
    inputs(&g, V, z, logits[0]);
    softmax_nodes(&g, V, p, z);
    graph_backward(&g, graph_scale(&g, -1, graph_log(&g, p[TARGET])));
    cross_entropy_backward(1, V, dlogits, logits, (int[]){TARGET}, 1);
    check_row(table, "cross_entropy_backward", &g, V, farthest(&g, V, z, dlogits[0]));
    graph_free(&g);
}

static void check_linear(Table *table, Random *random) {
    enum { ROWS = 2, IN = 3, OUT = 4 };
    Graph g = {0};
    float x[ROWS][IN], w[OUT][IN], dy[ROWS][OUT], dx[ROWS][IN] = {0}, dw[OUT][IN] = {0};
    int xs[ROWS][IN], ws[OUT][IN], ys[ROWS][OUT];
    draw(random, ROWS * IN, x[0]);
    draw(random, OUT * IN, w[0]);
    draw(random, ROWS * OUT, dy[0]);
    inputs(&g, ROWS * IN, xs[0], x[0]);
    inputs(&g, OUT * IN, ws[0], w[0]);
    for (int r = 0; r < ROWS; r++)
        for (int o = 0; o < OUT; o++) ys[r][o] = dot(&g, IN, xs[r], ws[o]);
    graph_backward(&g, loss_of(&g, ROWS * OUT, ys[0], dy[0]));
    linear_backward(ROWS, IN, OUT, dx, dw, NULL, dy, x, w);
    check_row(table, "linear_backward", &g, ROWS * IN + OUT * IN,
              fmax(farthest(&g, ROWS * IN, xs[0], dx[0]), farthest(&g, OUT * IN, ws[0], dw[0])));
    graph_free(&g);
}

static void check_swiglu(Table *table, Random *random) {
    enum { N = 4 };
    Graph g = {0};
    float gate[N], up[N], dout[N], dgate[N] = {0}, dup[N] = {0};
    int gates[N], ups[N], out[N];
    draw(random, N, gate);
    draw(random, N, up);
    draw(random, N, dout);
    inputs(&g, N, gates, gate);
    inputs(&g, N, ups, up);
    int one = graph_input(&g, 1);
    for (int i = 0; i < N; i++) { /* silu(x) = x / (1 + e^-x) */
        int e = graph_exp(&g, graph_scale(&g, -1, gates[i]));
        int silu = graph_multiply(&g, gates[i], graph_power(&g, graph_add(&g, one, e), -1));
        out[i] = graph_multiply(&g, silu, ups[i]);
    }
    graph_backward(&g, loss_of(&g, N, out, dout));
    swiglu_backward(N, dgate, dup, dout, gate, up);
    check_row(table, "swiglu_backward", &g, 2 * N,
              fmax(farthest(&g, N, gates, dgate), farthest(&g, N, ups, dup)));
    graph_free(&g);
}

static void check_rms_norm(Table *table, Random *random) {
    enum { DIM = 4 };
    Graph g = {0};
    float x[1][DIM], w[DIM], dy[1][DIM], dx[1][DIM] = {{0}}, dw[DIM] = {0}, eps = 1e-5f;
    int xs[DIM], ws[DIM], ys[DIM];
    draw(random, DIM, x[0]);
    draw(random, DIM, w);
    draw(random, DIM, dy[0]);
    inputs(&g, DIM, xs, x[0]);
    inputs(&g, DIM, ws, w);
    int mean = graph_scale(&g, 1.0 / DIM, dot(&g, DIM, xs, xs));
    int scale = graph_power(&g, graph_add(&g, mean, graph_input(&g, eps)), -0.5);
    for (int i = 0; i < DIM; i++)
        ys[i] = graph_multiply(&g, graph_multiply(&g, xs[i], scale), ws[i]);
    graph_backward(&g, loss_of(&g, DIM, ys, dy[0]));
    rms_norm_backward(1, DIM, dx, dw, dy, x, w, eps);
    check_row(table, "rms_norm_backward", &g, 2 * DIM,
              fmax(farthest(&g, DIM, xs, dx[0]), farthest(&g, DIM, ws, dw)));
    graph_free(&g);
}

/* Two query heads share one key-value head: fan-out of every key and value. */
static void check_attention(Table *table, Random *random) {
    enum { T = 3, H = 2, D = 2 };
    Graph g = {0};
    float q[T][H][D], k[T][1][D], v[T][1][D], dout[T][H][D];
    float dq[T][H][D] = {0}, dk[T][1][D] = {0}, dv[T][1][D] = {0};
    int qs[T][H][D], ks[T][D], vs[T][D], out[T][H][D];
    draw(random, T * H * D, q[0][0]);
    draw(random, T * D, k[0][0]);
    draw(random, T * D, v[0][0]);
    draw(random, T * H * D, dout[0][0]);
    inputs(&g, T * H * D, qs[0][0], q[0][0]);
    inputs(&g, T * D, ks[0], k[0][0]);
    inputs(&g, T * D, vs[0], v[0][0]);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            int score[T], p[T];
            for (int s = 0; s <= t; s++)
                score[s] = graph_scale(&g, 1 / sqrt(D), dot(&g, D, qs[t][h], ks[s]));
            softmax_nodes(&g, t + 1, p, score);
            for (int i = 0; i < D; i++) {
                int sum = graph_multiply(&g, p[0], vs[0][i]);
                for (int s = 1; s <= t; s++)
                    sum = graph_add(&g, sum, graph_multiply(&g, p[s], vs[s][i]));
                out[t][h][i] = sum;
            }
        }
    graph_backward(&g, loss_of(&g, T * H * D, out[0][0], dout[0][0]));
    grouped_query_attention_backward(T, H, 1, D, dq, dk, dv, dout, q, k, v);
    double far =
        fmax(farthest(&g, T * H * D, qs[0][0], dq[0][0]),
             fmax(farthest(&g, T * D, ks[0], dk[0][0]), farthest(&g, T * D, vs[0], dv[0][0])));
    check_row(table, "grouped_query_attention_backward", &g, T * H * D + 2 * T * D, far);
    graph_free(&g);
}

void print_autograd_check(void) {
    Random random = {.state = 16};
    Table table = {0};
    table_row(&table, "function|nodes of the graph|gradients|all agree to 0.000001");
    check_cross_entropy(&table, &random);
    check_linear(&table, &random);
    check_swiglu(&table, &random);
    check_rms_norm(&table, &random);
    check_attention(&table, &random);
    table_print(&table, stdout);
}
