/* Does this compiler multiply bytes of mixed signs rightly? gcc 12 takes the second loop, where it
 * vectorises for a processor with VNNI, for a product of unsigned and signed bytes. The exit status
 * is 1 where it does. build/compile.sh then compiles readers' files without VNNI. */
#include <stdint.h>
#include <stdlib.h>

__attribute__((noinline)) static int product(int n, const uint8_t *w, const int8_t *q) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += (int8_t)w[i] * q[i];
    return sum;
}

int main(void) {
    uint8_t w[256];
    int8_t q[256];
    int right = 0;
    for (int i = 0; i < 256; i++) {
        w[i] = (uint8_t)i;
        q[i] = (int8_t)(i * 7 % 256 - 128);
        right += (w[i] < 128 ? w[i] : w[i] - 256) * q[i];
    }
    return product(256, w, q) == right ? EXIT_SUCCESS : EXIT_FAILURE;
}
