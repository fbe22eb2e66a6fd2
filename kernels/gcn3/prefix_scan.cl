// Exclusive prefix sum of one group: up-sweep and down-sweep over a tree in LDS.
// Control flow: two uniform loops with doubling and halving steps, a different set of lanes active in each round, barriers.
// Launch: one group of n / 2 work-items, n a power of two up to 1024.
// Options: -mcode-object-version=5
#include "device.h"

UP_TO(512) kernel void prefix_scan(global const int *in, global int *out, int n)
{
    local int tree[1024];
    int t = local_x();
    tree[2 * t] = in[2 * t];
    tree[2 * t + 1] = in[2 * t + 1];
    int offset = 1;
#pragma unroll 1
    for (int active = n >> 1; active > 0; active >>= 1) {
        barrier_local();
        if (t < active)
            tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0)
        tree[n - 1] = 0;
#pragma unroll 1
    for (int active = 1; active < n; active *= 2) {
        offset >>= 1;
        barrier_local();
        if (t < active) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            int value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    barrier_local();
    out[2 * t] = tree[2 * t];
    out[2 * t + 1] = tree[2 * t + 1];
}
