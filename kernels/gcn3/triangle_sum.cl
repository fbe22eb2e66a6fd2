// Column sums over the upper right triangle of a c x c matrix, every second row only, plus a count of certain rows.
// Control flow: lane t runs t+1 iterations (triangular, divergent), two divergent conditions and a barrier in the loop, which the
// compiler leaves out if a group is one wave.
// Launch: one group of c work-items, c <= 64.
#include "device.h"

kernel void triangle_sum(global const float *matrix, global float *sums, int c)
{
    int row = 0;
    float sum = 0.0f;
    int column = local_x();
    int end = (column + 1) * c;
#pragma unroll 1
    for (int at = column; at < end; at += c) {
        if (row % (column + 1) == 0)
            sum += 1.0f;
        if (row % 2 != 0)
            sum += matrix[at];
        barrier_local();
        row++;
    }
    sums[row - 1] = sum;
}
