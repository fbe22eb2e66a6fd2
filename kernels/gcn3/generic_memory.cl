// Accesses through pointers whose memory space is only known when the kernel runs.
// Instructions: flat accesses and atomics to LDS, scratch and global memory through their apertures.
// Launch: 1-D groups of up to 128 work-items.
#include "device.h"

NOINLINE static int sum_through(const volatile int *from, int count)
{
    int sum = 0;
#pragma unroll 1
    for (int j = 0; j < count; j++)
        sum += from[j];
    return sum;
}

kernel void generic_memory(global int *data, global int *out, int n)
{
    local int staged[128];
    int own[4];
    int t = local_x();
    staged[t] = data[t];
    for (int k = 0; k < 4; k++)
        own[k] = t * k;
    barrier_local();
    volatile int *chosen = data;
    if (t % 3 == 1)
        chosen = staged;
    else if (t % 3 == 2)
        chosen = own;
    chosen[n & 3] = n;
    int *counted = data + t;
    if (t % 2 == 0)
        counted = staged + t;
    atomic_add(counted, n);
    out[t] = sum_through(chosen, n & 3) + sum_through(staged, t) + staged[t] + own[n & 1];
}
