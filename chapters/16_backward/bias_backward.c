#include "16_backward/backward.h"

void bias_backward(int rows, int out, float dbias[restrict out], const float dy[rows][out]) {
    for (int o = 0; o < out; o++) {
        double sum = 0;
        for (int r = 0; r < rows; r++) sum += dy[r][o];
        dbias[o] += (float)sum;
    }
}
