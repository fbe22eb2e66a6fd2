// Look-ups in a B+tree with 32 keys a node: of one key by half a wave, of a range of keys by a work-item.
// Nodes are rows of 32 ascending keys, the last ones the largest integer where a node is not full; an inner node's key is
// the smallest of its child's. Slots hold the children's numbers, in leaves the values.
// Control flow: a loop over the levels in which masks of compared lanes choose the child (ds_bpermute); a divergent binary
// search in each node, then a walk along the chain of leaves with two ways out.
// Launch: btree_find 1-D, 32 work-items per query; btree_range 1-D, a work-item per query.
#include "device.h"

kernel void btree_find(global const int *keys, global const int *slots, int levels, global const int *queries, global int *found, int count)
{
    int query = (global_x()) >> 5;
    int lane = local_x() & 31;
    if (query >= count)
        return;
    int wanted = queries[query];
    int node = 0;
#pragma unroll 1
    for (int level = 1; level < levels; level++) {
        uint not_larger = half_ballot(keys[node * 32 + lane] <= wanted);
        int which = max(__builtin_popcount(not_larger) - 1, 0);
        node = from_lane((lane_id() & 32) + which, slots[node * 32 + lane]);
    }
    uint equal = half_ballot(keys[node * 32 + lane] == wanted);
    if (lane == 0)
        found[query] = equal ? slots[node * 32 + __builtin_ffs(equal) - 1] : -1;
}

// How many of a node's keys are below a limit.
static inline int keys_below(const int *keys, int limit)
{
    int low = 0, high = 32;
#pragma unroll 1
    while (low < high) {
        int middle = (low + high) >> 1;
        if (keys[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kernel void btree_range(global const int *keys, global const int *slots, global const int *next, int levels, global const int2 *ranges, global int *counts, global long *sums, int count)
{
    int query = global_x();
    if (query >= count)
        return;
    int2 range = ranges[query];
    int node = 0;
#pragma unroll 1
    for (int level = 1; level < levels; level++)
        node = slots[node * 32 + max(keys_below(keys + node * 32, range.x) - 1, 0)];
    int at = keys_below(keys + node * 32, range.x);
    int number = 0;
    long sum = 0;
#pragma unroll 1
    while (1) {
        int key = at < 32 ? keys[node * 32 + at] : 0x7fffffff;
        if (key == 0x7fffffff) {
            node = next[node];
            at = 0;
            if (node < 0)
                break;
            continue;
        }
        if (key >= range.y)
            break;
        if (key >= range.x) {
            number++;
            sum += (long)slots[node * 32 + at] * number;
        }
        at++;
    }
    counts[query] = number;
    sums[query] = sum;
}
