// Distances from every record to one point, and the k nearest of each work-item's share kept in a sorted private list.
// Control flow: a straight guarded kernel; a strided loop with a divergent insertion (break inside).
// Launch: 1-D.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

typedef struct {
    float latitude, longitude;
} Location;

kernel void nearest_distances(global const Location *records, global float *distances, int count, float latitude, float longitude)
{
    int i = group_size_x() * (groups_x() * group_y() + group_x()) + local_x();
    if (i < count) {
        float dx = latitude - records[i].latitude, dy = longitude - records[i].longitude;
        distances[i] = __builtin_sqrtf(dx * dx + dy * dy);
    }
}

kernel void nearest_few(global const float *distances, global float *best, int count)
{
    enum { KEEP = 5 };
    float kept[KEEP];
    int thread = global_x();
    for (int k = 0; k < KEEP; k++)
        kept[k] = 3.0e38f;
#pragma unroll 1
    for (int i = thread; i < count; i += grid_items_x()) {
        float candidate = distances[i];
#pragma unroll 1
        for (int k = KEEP - 1; k >= 0; k--) {
            if (kept[k] <= candidate)
                break;
            if (k + 1 < KEEP)
                kept[k + 1] = kept[k];
            kept[k] = candidate;
        }
    }
    for (int k = 0; k < KEEP; k++)
        best[thread * KEEP + k] = kept[k];
}
