// Running sums of waves by ds_bpermute, and lanes that send their value to another place by ds_permute.
// Control flow: a loop with doubling distance, uniform; guarded additions.
// Launch: 1-D, groups of a multiple of 64; `places` permutes the lanes of each wave.
#include "device.h"

kernel void bpermute_scan(global const int *in, global const int *places, global int *running, global int *sent)
{
    int i = global_x();
    int lane = lane_id();
    int value = in[i], sum = value;
#pragma unroll 1
    for (int step = 1; step < 64; step *= 2) {
        int before = from_lane(lane - step, sum);
        if (lane >= step)
            sum += before;
    }
    running[i] = sum;
    sent[i] = __builtin_amdgcn_ds_permute(4 * places[i], value);
}
