// A private array indexed by data, which stays in registers: insertion sort of 24 values per work-item.
// Instructions: v_movrels and v_movreld with the index in M0. Control flow: data-dependent inner loop, loops over lanes.
// Launch: 1-D, one work-item per group of 24 values.
#include "device.h"

kernel void local_memory(global const int *in, global int *out)
{
    int i = 24 * (global_x());
    int sorted[24];
#pragma unroll 1
    for (int count = 0; count < 24; count++) {
        int value = in[i + count];
        int at = count;
#pragma unroll 1
        while (at > 0 && sorted[at - 1] > value) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = value;
    }
#pragma unroll 1
    for (int count = 0; count < 24; count++)
        out[i + count] = sorted[count];
}
