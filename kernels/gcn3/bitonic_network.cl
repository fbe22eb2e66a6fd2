// Bitonic sort: of one group in LDS, and one compare-exchange step on global memory.
// Control flow: doubling and halving loops nested in each other (logarithmic trip counts), divergent swaps, barriers.
// Launch: bitonic_block_int one work-item per element, groups of a power of two up to 512; bitonic_step 1-D.
#include "device.h"

UP_TO(512) kernel void bitonic_block_int(global int *data)
{
    local int keys[512];
    int t = local_x();
    int base = group_x() * group_size_x();
    keys[t] = data[base + t];
    barrier_local();
#pragma unroll 1
    for (int size = 2; size <= group_size_x(); size <<= 1) {
#pragma unroll 1
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            int partner = t ^ stride;
            if (partner > t) {
                int mine = keys[t], other = keys[partner];
                if ((mine > other) == ((t & size) == 0)) {
                    keys[t] = other;
                    keys[partner] = mine;
                }
            }
            barrier_local();
        }
    }
    data[base + t] = keys[t];
}

UP_TO(256) kernel void bitonic_step(global float *data, int size, int stride)
{
    int t = global_x();
    int partner = t ^ stride;
    if (partner > t) {
        float mine = data[t], other = data[partner];
        if ((mine > other) == ((t & size) == 0)) {
            data[t] = other;
            data[partner] = mine;
        }
    }
}
