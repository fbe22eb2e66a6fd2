// Matrix transpose through a padded tile in LDS (no bank conflicts), and the naive one.
// Control flow: fixed uniform loops of four rounds, one rolled and one unrolled; a single barrier of four waves.
// Launch: groups of 32 x 8 work-items.
// Options: -mcode-object-version=5
#include "device.h"

kernel void transpose(global const float *in, global float *out, int width, int height)
{
    local float tile[32][33];
    int x = group_x() * 32 + local_x(), y = group_y() * 32 + local_y();
#pragma unroll 1
    for (int row = 0; row < 32; row += 8)
        tile[local_y() + row][local_x()] = in[(y + row) * width + x];
    barrier_local();
    x = group_y() * 32 + local_x();
    y = group_x() * 32 + local_y();
#pragma unroll
    for (int row = 0; row < 32; row += 8)
        out[(y + row) * height + x] = tile[local_x()][local_y() + row];
}

kernel void transpose_naive(global const float *in, global float *out, int width, int height)
{
    int x = group_x() * 32 + local_x(), y = group_y() * 32 + local_y();
#pragma unroll 1
    for (int row = 0; row < 32; row += 8)
        if (x < width && y + row < height)
            out[x * height + y + row] = in[(y + row) * width + x];
}
