// Morton codes of points for building a BVH (10 bits per axis), and a histogram of their
// digits as the first pass of a radix sort.
// Options: -gline-tables-only
#include "opencl.h"

#define DIGITS 64

uint spread(uint v)
{
    v = (v | v << 16) & 0x030000ff;
    v = (v | v << 8) & 0x0300f00f;
    v = (v | v << 4) & 0x030c30c3;
    v = (v | v << 2) & 0x09249249;
    return v;
}

uint quantise(float v, float lo, float hi)
{
    return (uint)clamp((v - lo) / (hi - lo) * 1024.0f, 0.0f, 1023.0f);
}

kernel void morton_codes(global const float *xyz, uint count, float lo, float hi, uint shift,
                         global uint *codes, global uint *digitCounts)
{
    local uint bins[DIGITS];
    for (uint d = get_local_id(0); d < DIGITS; d += get_local_size(0))
        bins[d] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    uint i = get_global_id(0);
    if (i < count) {
        uint code = 0;
        for (int axis = 0; axis < 3; axis++)
            code |= spread(quantise(xyz[3 * i + axis], lo, hi)) << axis;
        codes[i] = code;
        atomic_inc(&bins[(code >> shift) % DIGITS]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint d = get_local_id(0); d < DIGITS; d += get_local_size(0))
        digitCounts[d * get_num_groups(0) + get_group_id(0)] = bins[d];
}
