// Gaussian elimination, step t: first the multipliers of column t, then the rest of the matrix and the right-hand side.
// Control flow: guards around everything, an extra assignment for the first column. No loop on the device.
// Launch: gaussian_multipliers 1-D over rows, gaussian_update 2-D over the remaining matrix.
// Options: -mcode-object-version=5 -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

kernel void gaussian_multipliers(global float *multipliers, global const float *matrix, int size, int t)
{
    int row = global_x();
    if (row >= size - 1 - t)
        return;
    row += t + 1;
    multipliers[row * size + t] = matrix[row * size + t] / matrix[t * size + t];
}

kernel void gaussian_update(global const float *multipliers, global float *matrix, global float *right, int size, int t)
{
    int row = global_x();
    int column = global_y();
    if (row >= size - 1 - t || column >= size - t)
        return;
    row += t + 1;
    float factor = multipliers[row * size + t];
    matrix[row * size + column + t] -= factor * matrix[t * size + column + t];
    if (column == 0)
        right[row] -= factor * right[t];
}
