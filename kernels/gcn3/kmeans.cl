// Clustering step: the nearest of k centres for each point, points of any dimension.
// Control flow: nested uniform loops with trip counts from parameters in a guard, a divergent minimum (v_cndmask).
// Launch: 1-D, one work-item per point; features stored by dimension.
// Options: -gline-tables-only
#include "device.h"

kernel void kmeans_assign(global const float *features, global const float *centres, global int *membership, int points, int clusters, int dimensions)
{
    int point = global_x();
    if (point >= points)
        return;
    int nearest = -1;
    float least = 3.4e38f;
#pragma unroll 1
    for (int cluster = 0; cluster < clusters; cluster++) {
        float distance = 0.0f;
#pragma unroll 1
        for (int d = 0; d < dimensions; d++) {
            float delta = features[d * points + point] - centres[cluster * dimensions + d];
            distance += delta * delta;
        }
        if (distance < least) {
            least = distance;
            nearest = cluster;
        }
    }
    membership[point] = nearest;
}

kernel void kmeans_swap(global const float *by_point, global float *by_dimension, int points, int dimensions)
{
    int point = global_x();
    if (point < points)
#pragma unroll 1
        for (int d = 0; d < dimensions; d++)
            by_dimension[d * points + point] = by_point[point * dimensions + d];
}
