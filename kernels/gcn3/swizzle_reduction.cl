// Sums over 32 lanes by ds_swizzle with exclusive or, and lanes turned within quads.
// Launch: 1-D, groups of a multiple of 64; elements from `count` on are 0.
#include "device.h"

#define exchanged(value, mask) __builtin_amdgcn_ds_swizzle(value, (mask) << 10 | 0x1f)

kernel void swizzle_reduction(global const int *in, global int *sums, global int *turned, int count)
{
    int i = global_x();
    int value = i < count ? in[i] : 0;
    int sum = value;
    sum += exchanged(sum, 1);
    sum += exchanged(sum, 2);
    sum += exchanged(sum, 4);
    sum += exchanged(sum, 8);
    sum += exchanged(sum, 16);
    sums[i] = sum;
    turned[i] = __builtin_amdgcn_ds_swizzle(value, 0x8000 | 0x39);
}
