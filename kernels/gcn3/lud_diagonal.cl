// LU decomposition of one 16 x 16 block on the diagonal.
// Control flow: triangular uniform loops with known bounds, the active lanes shrink; barriers of a group of one wave.
// Launch: one group of 16 work-items.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

kernel void lud_diagonal(global float *matrix, int width, int offset)
{
    enum { SIDE = 16 };
    local float tile[SIDE][SIDE];
    int t = local_x();
    float *corner = matrix + offset * width + offset;
#pragma unroll 1
    for (int row = 0; row < SIDE; row++)
        tile[row][t] = corner[row * width + t];
    barrier_local();
#pragma unroll 1
    for (int pivot = 0; pivot < SIDE - 1; pivot++) {
        if (t > pivot) {
            float lower = tile[t][pivot];
#pragma unroll 1
            for (int k = 0; k < pivot; k++)
                lower -= tile[t][k] * tile[k][pivot];
            tile[t][pivot] = lower / tile[pivot][pivot];
        }
        barrier_local();
        if (t > pivot) {
            float upper = tile[pivot + 1][t];
#pragma unroll 1
            for (int k = 0; k <= pivot; k++)
                upper -= tile[pivot + 1][k] * tile[k][t];
            tile[pivot + 1][t] = upper;
        }
        barrier_local();
    }
#pragma unroll 1
    for (int row = 1; row < SIDE; row++)
        corner[row * width + t] = tile[row][t];
}
