// Early returns in the kernel and in a function.
// Control flow: masks of the lanes that stay, in the kernel and in a function with a loop of two exits.
// Launch: 1-D; n may be smaller than the number of work-items.
#include "device.h"

NOINLINE static int clamp_divide(int x, int y)
{
    if (x < y)
        return 0;
    int sum = 0;
#pragma unroll 1
    while (1) {
        sum += x;
        x /= y;
        if (x < 2)
            return sum;
        if (sum & 64)
            break;
    }
    return sum * 3;
}

kernel void predicated_exit(global const int *in, global int *out, int n)
{
    int i = global_x();
    if (i >= n)
        return;
    int value = in[i];
    if (value == 0)
        return;
    value = clamp_divide(value, n);
    out[i] = value;
    if (value < 0)
        return;
    out[i + n] = in[value];
}
