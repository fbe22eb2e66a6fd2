// A search with filters: entries that do not fit are skipped, some end the inner loop, some both loops.
// Control flow: continue, break and a jump out of two loops, all divergent; two masks of lanes that left.
// Launch: 1-D, one work-item an element.
#include "device.h"

kernel void break_continue(global const int *table, global const int *keys, global int *out, int rows, int columns)
{
    int i = global_x();
    int key = keys[i], sum = 0;
#pragma unroll 1
    for (int row = 0; row < rows; row++) {
#pragma unroll 1
        for (int column = 0; column < columns; column++) {
            int entry = table[row * columns + column];
            if ((entry & 3) == (key & 3))
                continue;
            sum += entry;
            if (entry % 7 == key % 7)
                break;
            if (sum > 40 * key)
                goto done;
            out[i] = sum;
        }
        sum ^= row;
    }
    sum = -sum;
done:
    out[i] = sum;
}
