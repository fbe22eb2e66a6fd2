// Sum of each group's part by the tree in LDS, with the strides halved in a loop.
// Control flow: uniform loop with a barrier; in its last six rounds only part of one wave adds.
// Launch: 1-D, groups of a power of two up to 256.
// Options: -gline-tables-only
#include "device.h"

kernel void reduction_tree(global const float *in, global float *out)
{
    local float cells[256];
    int t = local_x();
    cells[t] = in[global_x()];
    barrier_local();
#pragma unroll 1
    for (int stride = group_size_x() / 2; stride > 0; stride >>= 1) {
        if (t < stride)
            cells[t] += cells[t + stride];
        barrier_local();
    }
    if (t == 0)
        out[group_x()] = cells[0];
}
