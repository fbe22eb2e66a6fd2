// The parts of a sort that first splits floats into buckets and then merges: how many keys each bucket gets, a split that
// keeps the order within a bucket, sorting of four keys a work-item, and merging of neighbouring runs.
// Control flow: binary searches with data-dependent trip counts; a loop over buckets with masks of lanes in it; straight-line
// minima and maxima; a merge in which each work-item searches the place of its key in the other run.
// Launch: 1-D, one work-item per key (sort_quads: per four keys). bucket_split: multiples of 32 work-items, at most 256.
#include "device.h"

enum { BUCKETS = 16 };

// The number of pivots that are not larger; pivots ascend.
static inline int bucket_of(const float *pivots, float key)
{
    int low = 0, high = BUCKETS - 1;
#pragma unroll 1
    while (low < high) {
        int middle = (low + high) >> 1;
        if (pivots[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kernel void bucket_count(global const float *keys, global const float *pivots, global uint *counts, int count)
{
    local uint counted[BUCKETS];
    int i = global_x();
    if (local_x() < BUCKETS)
        counted[local_x()] = 0;
    barrier_local();
    if (i < count)
        atomic_add(&counted[bucket_of(pivots, keys[i])], 1u);
    barrier_local();
    if (local_x() < BUCKETS && counted[local_x()] > 0)
        atomic_add(&counts[local_x()], counted[local_x()]);
}

// starts: where the keys of a bucket and a block begin, bucket by bucket.
kernel void bucket_split(global const float *keys, global const float *pivots, global const uint *starts, global float *split, int count)
{
    local float edges[BUCKETS - 1];
    local uchar before[8][BUCKETS];
    int i = global_x();
    int lane = local_x() & 31, warp = local_x() >> 5;
    if (local_x() < BUCKETS - 1)
        edges[local_x()] = pivots[local_x()];
    barrier_local();
    float key = 0.0f;
    int mine = -1;
    if (i < count) {
        key = keys[i];
        mine = bucket_of(edges, key);
    }
    uint same = 0;
#pragma unroll 1
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        uint these = half_ballot(mine == bucket);
        if (mine == bucket)
            same = these;
        if (lane == 0)
            before[warp][bucket] = __builtin_popcount(these);
    }
    barrier_local();
    if (mine >= 0) {
        uint at = starts[mine * groups_x() + group_x()] + __builtin_popcount(same & ((1u << lane) - 1));
#pragma unroll 1
        for (int other = 0; other < warp; other++)
            at += before[other][mine];
        split[at] = key;
    }
}

kernel void sort_quads(global float4 *keys, int quads)
{
    int i = global_x();
    if (i >= quads)
        return;
    float4 q = keys[i];
    float a = __builtin_fminf(q.x, q.y), b = __builtin_fmaxf(q.x, q.y), c = __builtin_fminf(q.z, q.w), d = __builtin_fmaxf(q.z, q.w);
    float low = __builtin_fmaxf(a, c), high = __builtin_fminf(b, d);
    q.x = __builtin_fminf(a, c);
    q.y = __builtin_fminf(low, high);
    q.z = __builtin_fmaxf(low, high);
    q.w = __builtin_fmaxf(b, d);
    keys[i] = q;
}

// Runs of the given length are sorted; the last run may be shorter or have no partner.
kernel void merge_runs(global const float *keys, global float *merged, int run, int count)
{
    int i = global_x();
    if (i >= count)
        return;
    int pair = i / (2 * run) * (2 * run);
    bool is_first = i - pair < run;
    int middle = min(pair + run, count);
    int low = is_first ? middle : pair;
    int high = is_first ? min(pair + 2 * run, count) : middle;
    int other = low;
    float key = keys[i];
#pragma unroll 1
    while (low < high) {
        int at = (low + high) >> 1;
        float there = keys[at];
        // Equal keys of the first run come first.
        if (is_first ? there < key : there <= key)
            low = at + 1;
        else
            high = at;
    }
    merged[is_first ? i + low - other : i - (middle - pair) + low - other] = key;
}
