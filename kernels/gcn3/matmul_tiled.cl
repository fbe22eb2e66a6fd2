// Matrix product by tiles of 16 x 16 through LDS, for any width; the last tile in each direction is partial.
// Control flow: a uniform loop over tiles with two barriers in groups of 256, guarded loads and the inner product inside it.
// Launch: groups of 16 x 16, as kernels/cuda/matmul_tiled.cu.
// Options: -gline-tables-only
#include "device.h"

kernel void matmul_any_width(global const float *a, global const float *b, global float *c, int width)
{
    local float left[16][16], right[16][16];
    int x = local_x(), y = local_y();
    int row = group_y() * 16 + y, column = group_x() * 16 + x;
    float sum = 0.0f;
#pragma unroll 1
    for (int start = 0; start < width; start += 16) {
        left[y][x] = row < width && start + x < width ? a[row * width + start + x] : 0.0f;
        right[y][x] = column < width && start + y < width ? b[(start + y) * width + column] : 0.0f;
        barrier_local();
#pragma unroll 1
        for (int k = 0; k < 16; k++)
            sum += left[y][k] * right[k][x];
        barrier_local();
    }
    if (row < width && column < width)
        c[row * width + column] = sum;
}
