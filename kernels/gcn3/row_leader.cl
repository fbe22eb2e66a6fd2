// The first work-item of each row of a group replaces the numbers of the row by their places in a table.
// Control flow: a mask of one lane a row; in it a uniform loop with a search that lanes leave one by one.
// Launch: 2-D groups, one work-item per number.
#include "device.h"

static inline int place(const int *table, int m, int number)
{
#pragma unroll 1
    for (int k = 0; k < m; k++) {
        if (table[k] == number)
            return k + number / (k + 3);
    }
    return -1;
}

kernel void row_leader(global const int *in, global const int *table, global int *out, int m)
{
    if (local_x() != 0)
        return;
    int first = (group_x() * group_size_y() + local_y()) * group_size_x() + local_x();
#pragma unroll 1
    for (int j = 0; j < group_size_x(); j++)
        out[first + j] = place(table, m, in[first + j]);
}

kernel void row_leader_shared(global const int *in, global const int *table, global int *out, int m)
{
    local int sums[32];
    int i = (group_x() * group_size_y() + local_y()) * group_size_x() + local_x();
    if (local_x() == 0) {
        int sum = 0;
#pragma unroll 1
        for (int j = 0; j < group_size_x(); j++)
            sum += place(table, m, in[i + j]);
        sums[local_y()] = sum;
    }
    barrier_local();
    out[i] = sums[local_y()] + local_x();
}
