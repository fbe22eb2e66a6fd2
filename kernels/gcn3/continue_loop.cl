// Sums the table entries that pass two filters, each of which skips the rest of the body.
// Control flow: divergent continue inside a uniform loop.
// Launch: 1-D, one work-item per output.
// Options: -gline-tables-only
#include "device.h"

kernel void continue_loop(global const int *table, global int *out, int n)
{
    int i = global_x();
    int sum = 0;
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        int entry = table[j];
        if (entry == i)
            continue;
        sum += entry / (i + 1);
        if (sum & 1)
            continue;
        sum += table[sum & 63] % (i + 3);
        out[i + j] = sum;
    }
    out[i] = sum;
}
