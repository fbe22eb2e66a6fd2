// The sort of hybrid_sort.cl with the step between counting and splitting on the device as well.
// Control flow of bucket_starts: two uniform loops over the groups, a loop with as many rounds as the lane's number.
// Launch: bucket_starts one group of 16.
#include "hybrid_sort.cl"

// From the counts of each group and bucket to where the keys of a bucket and a group begin, bucket by bucket.
kernel void bucket_starts(global const uint *counts, global uint *starts, int groups)
{
    local uint totals[BUCKETS];
    int bucket = local_x();
    uint total = 0;
#pragma unroll 1
    for (int group = 0; group < groups; group++)
        total += counts[group * BUCKETS + bucket];
    totals[bucket] = total;
    barrier_local();
    uint at = 0;
#pragma unroll 1
    for (int other = 0; other < bucket; other++)
        at += totals[other];
#pragma unroll 1
    for (int group = 0; group < groups; group++) {
        starts[bucket * groups + group] = at;
        at += counts[group * BUCKETS + bucket];
    }
}
