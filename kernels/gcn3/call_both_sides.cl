// Both sides of a divergent branch call the same function.
// Control flow: one function body reached by s_swappc from two places with different masks.
// Launch: 1-D, one work-item per element.
#include "device.h"

NOINLINE static int digit_sum(int x, int base)
{
    int sum = 0;
#pragma unroll 1
    while (x > 0) {
        sum += x % base;
        x /= base;
    }
    return sum;
}

kernel void call_both_sides(global const int *in, global int *out, int n)
{
    int i = global_x();
    int value = in[i];
    if (value & 1) {
        out[i] = digit_sum(value, 10);
    } else {
        int first = digit_sum(in[i + n], n);
        out[i + 1] = first * n;
    }
}
