// A short two-sided branch on the bit of the lane, then a long loop that reads memory: what both sides of a split repeat.
// Control flow: one two-sided branch, a uniform loop.
// Launch: 1-D; `table` has `rounds` times as many elements as there are work-items.
// Options: -gline-tables-only
#include "device.h"

// Chains of dependent instructions at the full rate, long enough for the compiler to keep the branch around them; two kinds, as
// it makes one of equal ones.
#define MIX(number) x = (x << 3 ^ x) + (number);
#define FOLD(number) x = (x - (number)) ^ x >> 5;
#define MIX_6(number) MIX(number) MIX(number + 1) MIX(number + 2) MIX(number + 3) MIX(number + 4) MIX(number + 5)
#define FOLD_6(number) FOLD(number) FOLD(number + 1) FOLD(number + 2) FOLD(number + 3) FOLD(number + 4) FOLD(number + 5)

kernel void split_tail(global const int *table, global int *out, int rounds)
{
    int i = global_x(), items = grid_items_x();
    int x = i;
    if (local_x() & 1) {
        MIX_6(100)
    } else {
        FOLD_6(200)
    }
#pragma unroll 1
    for (int round = 0; round < rounds; round++)
        x = (x ^ table[round * items + i]) + round;
    out[i] = x;
}
