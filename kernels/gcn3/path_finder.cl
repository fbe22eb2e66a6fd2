// Cheapest path through a grid, row by row: each group advances several rows on a halo that shrinks by one per row.
// Control flow: a uniform loop with barriers of 256 work-items, a divergent validity test and a break in the last iteration.
// Launch: 1-D groups of 256 work-items.
// Options: -mcode-object-version=5
#include "device.h"

kernel void path_finder(global const int *wall, global const int *before, global int *after, int rows, int columns, int start)
{
    enum { SIZE = 256 };
    local int current[SIZE];
    local int next[SIZE];
    int t = local_x();
    int column = group_x() * (SIZE - 2 * rows) - rows + t;
    bool inside = column >= 0 && column < columns;
    if (inside)
        current[t] = before[column];
    barrier_local();
    int west = column == 0 ? t : max(t - 1, 0);
    int east = column == columns - 1 ? t : min(t + 1, SIZE - 1);
    bool computed = false;
#pragma unroll 1
    for (int row = 0; row < rows; row++) {
        computed = false;
        if (inside && t > row && t < SIZE - 1 - row) {
            computed = true;
            next[t] = min(current[t], min(current[west], current[east])) + wall[columns * (start + row) + column];
        }
        barrier_local();
        if (row == rows - 1)
            break;
        if (computed)
            current[t] = next[t];
        barrier_local();
    }
    if (computed)
        after[column] = next[t];
}
