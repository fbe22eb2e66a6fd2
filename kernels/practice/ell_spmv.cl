// Sparse matrix times vector, matrix in ELLPACK format (column by column, short rows padded
// with column -1), one work-item per row.
// Options: -gline-tables-only
#include "opencl.h"

kernel void ell_spmv(global const int *restrict columns, global const float *restrict values, global const float *restrict x,
                     global float *restrict y, int rows, int rowWidth, int pitch)
{
    int row = get_global_id(0);
    if (row >= rows)
        return;

    float sum = 0.0f;
    for (int k = 0; k < rowWidth; k++) {
        int column = columns[k * pitch + row];
        if (column < 0)
            break;
        sum += values[k * pitch + row] * x[column];
    }
    y[row] = sum;
}
