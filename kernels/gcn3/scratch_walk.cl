// A walk over a private table that changes it: each step goes where the table says.
// Instructions: scratch at offsets that depend on data. Control flow: a divergent loop that a value or the count ends.
// Launch: 1-D, one work-item an element; `start` has 128 numbers of 0 to 127.
// Options: -mcode-object-version=5
#include "device.h"

kernel void scratch_walk(global const int *start, global int *out, int steps)
{
    int i = global_x();
    int table[128];
#pragma unroll 1
    for (int k = 0; k < 128; k++)
        table[k] = (start[k] * (i + 1) + k) & 127;
    int at = i & 127, sum = 0;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        int next = table[at];
        sum = sum * 5 + next;
        table[at] = (next + 3) & 127;
        if ((sum & 63) == 17)
            break;
        at = next;
    }
    out[i] = sum * 128 + at;
}
