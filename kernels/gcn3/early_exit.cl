// Work-items outside the range leave at once; some others leave from inside a loop whose end depends on data.
// Control flow: returns as masks, a loop with two exits, a tail that only some lanes reach.
// Launch: 1-D, n may be smaller than the number of work-items.
// Options: -gline-tables-only
#include "device.h"

kernel void early_exit(global const int *in, global int *out, int n)
{
    int i = global_x();
    if (i >= n)
        return;
    int value = in[i];
    if (value < 0) {
        out[i] = in[-value] / n;
        return;
    }
#pragma unroll 1
    while (value > 1) {
        if (in[value] == i) {
            out[i] = value;
            return;
        }
        value = (value & 1) ? 3 * value + 1 : value / 2;
    }
    out[i] = value - in[0];
}
