/* Chapter 17: swiglu_backward() of chapter 16 in float32, all lanes at once. */
#include "12_speed/exponential.h"
#include "16_backward/backward.h"

/* 1 / (1 + e^-|x|), the share of the larger of x and 0, and e^-|x| times that: no power overflows. */
typedef struct {
    Vector more, less;
} Shares;

INLINE Shares shares_of(Vector x) {
    const Words sign = (Words){0} + 0x80000000;
    Vector power = exp_negative((Vector)((Words)x | sign)), more = 1 / (1 + power);
    return (Shares){more, power * more};
}

/* silu(x) = x s and its slope s (1 + x (1 - s)), where s = 1 / (1 + e^-x). 1 - s would round what is small: it is the
 * other share. */
INLINE void add_step(Vector *dgate, Vector *dup, Vector dout, Vector gate, Vector up) {
    Shares of = shares_of(gate);
    Words negative = (Words)(gate < 0);
    Vector open = blend(negative, of.less, of.more), shut = blend(negative, of.more, of.less);
    *dgate += dout * up * (open * (1 + gate * shut));
    *dup += dout * (gate * open);
}

void swiglu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n], const float gate[n],
                     const float up[n]) {
    int whole = n / LANES * LANES;
    for (int i = 0; i < whole; i += LANES)
        add_step((Vector *)&dgate[i], (Vector *)&dup[i], *(const Vector *)&dout[i], *(const Vector *)&gate[i],
                 *(const Vector *)&up[i]);
    for (int i = whole; i < n; i++) {
        Vector one_gate = {dgate[i]}, one_up = {dup[i]};
        add_step(&one_gate, &one_up, (Vector){dout[i]}, (Vector){gate[i]}, (Vector){up[i]});
        dgate[i] = one_gate[0], dup[i] = one_up[0];
    }
}
