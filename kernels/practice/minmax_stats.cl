// Statistics of a vector of sensor readings: minimum, maximum, sum and sum of squares of the
// valid readings (not NaN), reduced per group.
// Options: -gline-tables-only
#include "opencl.h"

#define MAX_GROUP 256

kernel void minmax_stats(global const float4 *readings, ulong numVectors, global float4 *groupStats, global uint *valid)
{
    local float4 stats[MAX_GROUP];
    local uint counts[MAX_GROUP];

    float lo = 3.4e38f, hi = -3.4e38f, sum = 0.0f, squares = 0.0f;
    uint n = 0;
    for (size_t i = get_global_id(0); i < numVectors; i += get_global_size(0)) {
        float4 v = readings[i];
        for (int c = 0; c < 4; c++) {
            float r = v[c];
            if (r != r)
                continue;
            lo = fmin(lo, r);
            hi = fmax(hi, r);
            sum += r;
            squares += r * r;
            n++;
        }
    }

    uint lid = get_local_id(0);
    stats[lid] = (float4)(lo, hi, sum, squares);
    counts[lid] = n;
    for (uint active = get_local_size(0) / 2; active > 0; active /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < active) {
            float4 a = stats[lid], b = stats[lid + active];
            stats[lid] = (float4)(fmin(a.x, b.x), fmax(a.y, b.y), a.z + b.z, a.w + b.w);
            counts[lid] += counts[lid + active];
        }
    }
    if (lid == 0) {
        groupStats[get_group_id(0)] = stats[0];
        atomic_add(valid, counts[0]);
    }
}
