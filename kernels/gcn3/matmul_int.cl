// Integer matrix product in one group: copy both n x n matrices to LDS, then one work-item computes one element.
// Control flow: one uniform loop with n rounds; a barrier of several waves, the last one partial.
// Launch: one group of n x n work-items, n <= 16.
// Options: -mcode-object-version=5
#include "device.h"

kernel void matmul_int(global const int *a, global const int *b, global int *product, int n)
{
    local int left[16 * 16];
    local int right[16 * 16];
    int x = local_x(), y = local_y();
    int at = y * n + x;
    left[at] = a[at];
    right[at] = b[at];
    barrier_local();
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; k++)
        sum += left[y * n + k] * right[k * n + x];
    product[at] = sum;
}
