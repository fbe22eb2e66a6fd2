// Linear search with two ways out of the loop: found, or a sentinel was met.
// Control flow: divergent loop left by break; the masks of the two exits are joined after it.
// Launch: 1-D, one work-item per key.
// Options: -gline-tables-only
#include "device.h"

kernel void break_loop(global const int *table, global const int *keys, global int *out, int n)
{
    int i = global_x();
    int key = keys[i];
    int where = -1;
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        int entry = table[j];
        if (entry == key) {
            where = j;
            out[i + n] = entry;
            break;
        }
        if (entry < 0) {
            where = -2 - j / key;
            break;
        }
        out[i] = entry;
    }
    out[i] = where;
}
