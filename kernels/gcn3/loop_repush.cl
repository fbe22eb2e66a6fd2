// A loop with a divergent two-sided branch in its body, and a loop left by break in a loop.
// Control flow: masks are saved and restored in each iteration; both outer trip counts are uniform.
// Launch: 1-D, one work-item per element.
#include "device.h"

kernel void loop_repush(global const int *in, global int *out, int n)
{
    int i = global_x();
    int value = in[i];
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        if ((value ^ j) & 1)
            value = value / (j + 3) + in[value & 63];
        else
            value = 3 * value + in[j] % (j + 5);
        out[i] = value;
    }
}

kernel void loop_repush_break(global const int *in, global int *out, int n)
{
    int i = global_x();
    int value = in[i];
#pragma unroll 1
    for (int j = 0; j < n; j++) {
#pragma unroll 1
        for (int k = 0; k < value; k++) {
            if (in[k] == i) {
                value += k / (j + 3);
                break;
            }
            value ^= in[k + j];
        }
        out[i] = value;
    }
}
