/* Right without optimizations, and wrong with them: what it does is undefined. */
#include <math.h>

/* relu: It is right when it is compiled with -O1 -fno-strict-aliasing
 * A float is read as an int: with -O2 the compiler takes it that an int cannot change a float. */
static int later(float *number, int *bits) {
    *number = -1;
    *bits = 0;
    return *number == 0;
}
void relu(int n, float out[n], const float x[n]) {
    float changed;
    int was_seen = later(&changed, (int *)(void *)&changed);
    for (int i = 0; i < n; i++) out[i] = x[i] < 0 ? !was_seen : x[i];
}
