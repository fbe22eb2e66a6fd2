// Sums, running sums and maxima of full waves by data-parallel primitives (DPP).
// Instructions: row shifts, broadcasts to the next rows, quad permutations, mirrors, v_readlane.
// Launch: 1-D, groups of a multiple of 64; elements from `count` on are 0.
#include "device.h"

#define moved(old, value, control, rows) __builtin_amdgcn_update_dpp(old, value, control, rows, 0xf, 0)

// Sum of the lanes up to the own one.
static inline int running_sum(int value)
{
    value += moved(0, value, 0x111, 0xf);
    value += moved(0, value, 0x112, 0xf);
    value += moved(0, value, 0x114, 0xf);
    value += moved(0, value, 0x118, 0xf);
    value += moved(0, value, 0x142, 0xa);
    value += moved(0, value, 0x143, 0xc);
    return value;
}

kernel void dpp_reduction(global const int *in, global int *running, global int *totals, int count)
{
    int i = global_x();
    int value = i < count ? in[i] : 0;
    int sum = running_sum(value);
    running[i] = sum;
    totals[i / 64] = __builtin_amdgcn_readlane(sum, 63);
}

// The largest of each row of 16 lanes, by permutations in quads and mirrors.
kernel void dpp_row_maximum(global const int *in, global int *out, int count)
{
    int i = global_x();
    int value = i < count ? in[i] : 0;
    value = max(value, moved(value, value, 0xb1, 0xf));
    value = max(value, moved(value, value, 0x4e, 0xf));
    value = max(value, moved(value, value, 0x141, 0xf));
    value = max(value, moved(value, value, 0x140, 0xf));
    out[i] = value;
}

// Every lane takes the value of a neighbour in the wave, shifted and rotated.
kernel void dpp_wave_shifts(global const int *in, global int *out)
{
    int i = global_x();
    int value = in[i];
    int sum = moved(-1, value, 0x130, 0xf) + 3 * moved(-2, value, 0x138, 0xf);
    sum += 5 * moved(-3, value, 0x134, 0xf) + 7 * moved(-4, value, 0x13c, 0xf);
    out[i] = sum + 11 * moved(-5, value, 0x123, 0xf) + 13 * moved(-6, value, 0x102, 0x5);
}
