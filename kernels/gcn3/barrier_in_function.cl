// The sum of a group done by a function that has barriers.
// Control flow: s_barrier in a function that is called twice, and in its loop.
// Launch: 1-D, groups of 256 work-items.
// Options: -mcode-object-version=5
#include "device.h"

NOINLINE static int block_sum(local int *cells, int value)
{
    int t = local_x();
    cells[t] = value;
    barrier_local();
#pragma unroll 1
    for (int step = group_size_x() / 2; step > 0; step >>= 1) {
        if (t < step)
            cells[t] += cells[t + step];
        barrier_local();
    }
    int sum = cells[0];
    barrier_local();
    return sum;
}

kernel void barrier_in_function(global const int *in, global int *out, int n)
{
    local int cells[256];
    int i = global_x();
    int sum = block_sum(cells, in[i]);
    int norm = block_sum(cells, in[i] * in[i] / n);
    out[i] = sum * norm;
}
