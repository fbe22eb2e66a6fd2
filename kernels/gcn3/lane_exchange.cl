// Values of single lanes read and written by scalars.
// Instructions: v_readlane with the lane in an SGPR, v_writelane with the lane in M0, v_readfirstlane with part of the lanes active.
// Launch: 1-D, groups of a multiple of 64; lane is 0 to 63.
#include "device.h"

kernel void lane_exchange(global const int *in, global int *out, int lane, int value)
{
    int i = global_x();
    int own = in[i];
    int picked = __builtin_amdgcn_readlane(own, lane);
    int changed = own;
    // One SGPR a vector instruction: the lane is in M0.
    __asm__("s_mov_b32 m0, %2\n\tv_writelane_b32 %0, %1, m0" : "+v"(changed)
            : "s"(__builtin_amdgcn_readfirstlane(value)), "s"(__builtin_amdgcn_readfirstlane(lane)) : "m0");
    int result = changed * 3 + picked;
    if (own > value)
        result += __builtin_amdgcn_readfirstlane(own) ^ i;
    out[i] = result;
}
