// Steps until a number becomes 1: the plain loop that lanes leave one by one.
// Control flow: s_or of the lanes that are done, s_andn2 of exec, s_cbranch_execnz.
// Launch: 1-D, one work-item an element; numbers above 0.
// Options: -gline-tables-only
#include "device.h"

kernel void collatz(global const int *in, global int *out, int count)
{
    int i = global_x();
    if (i >= count)
        return;
    int x = in[i], steps = 0;
#pragma unroll 1
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x >> 1;
        steps++;
    }
    out[i] = steps;
}
