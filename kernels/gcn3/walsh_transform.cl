// Fast Walsh-Hadamard transform: radix-4 stages of one group in LDS, then a radix-2 stage if needed.
// Control flow: a uniform loop whose stride is divided by four each round, a uniform branch for odd powers of two.
// Launch: groups of 2^(log2n - 2) work-items, log2n up to 10.
// Options: -mcode-object-version=5 -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

kernel void walsh_block(global const float *in, global float *out, int log2n)
{
    local float values[1024];
    int n = 1 << log2n;
    int base = group_x() << log2n;
#pragma unroll 1
    for (int at = local_x(); at < n; at += group_size_x())
        values[at] = in[base + at];
    int t = local_x();
#pragma unroll 1
    for (int stride = n >> 2; stride > 0; stride >>= 2) {
        int low = t & (stride - 1);
        int i0 = ((t - low) << 2) + low, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
        barrier_local();
        float a = values[i0], b = values[i1], c = values[i2], d = values[i3];
        float ac = a + c, ca = a - c, bd = b + d, db = b - d;
        values[i0] = ac + bd;
        values[i1] = ac - bd;
        values[i2] = ca + db;
        values[i3] = ca - db;
    }
    if (log2n & 1) {
        barrier_local();
#pragma unroll 1
        for (int at = t; at < n / 2; at += group_size_x()) {
            int i0 = at << 1;
            float a = values[i0], b = values[i0 + 1];
            values[i0] = a + b;
            values[i0 + 1] = a - b;
        }
    }
    barrier_local();
#pragma unroll 1
    for (int at = t; at < n; at += group_size_x())
        out[base + at] = values[at];
}

kernel void walsh_modulate(global float *a, global const float *b, int n)
{
    float scale = 1.0f / n;
#pragma unroll 1
    for (int at = global_x(); at < n; at += grid_items_x())
        a[at] *= b[at] * scale;
}
