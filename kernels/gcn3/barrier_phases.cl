// Sorts each group's numbers by exchanging neighbours in even and odd phases.
// Control flow: a uniform loop with a barrier of four waves in each round, the last work-item idles in odd rounds.
// Launch: 1-D, groups of up to 256.
#include "device.h"

kernel void barrier_phases(global const int *in, global int *out)
{
    local int cells[256];
    int t = local_x(), size = group_size_x();
    cells[t] = in[global_x()];
    barrier_local();
#pragma unroll 1
    for (int phase = 0; phase < size; phase++) {
        int left = 2 * t + (phase & 1);
        if (left + 1 < size) {
            int a = cells[left], b = cells[left + 1];
            if (a > b) {
                cells[left] = b;
                cells[left + 1] = a;
            }
        }
        barrier_local();
    }
    out[global_x()] = cells[t];
}
