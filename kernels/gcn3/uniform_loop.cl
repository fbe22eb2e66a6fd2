// Loops whose conditions are the same for all work-items of a group: parameter, group index, constant, shared value.
// Control flow: loops on SCC; uniform_shared_loop ends on a value from LDS, which is the same in all lanes but in a VGPR.
// Launch: 1-D, one work-item per element.
#include "device.h"

kernel void uniform_loop(global const float *in, global float *out, int n)
{
    int i = global_x();
    float sum = 0.0f;
#pragma unroll 1
    for (int j = 0; j < n; j++)
        sum += in[i + j * group_size_x()];
#pragma unroll 1
    for (int j = group_x(); j > 0; j /= 2)
        sum *= in[j];
#pragma unroll 1
    for (int j = 0; j < 10; j++)
        sum = sum * 0.5f + j;
    out[i] = sum;
}

kernel void uniform_shared_loop(global const int *in, global int *out)
{
    local int limit;
    int i = global_x();
    if (local_x() == 0)
        limit = in[group_x()];
    barrier_local();
    int sum = 0;
#pragma unroll 1
    for (int j = 0; j < limit; j++)
        sum ^= in[i + j];
    out[i] = sum;
}
