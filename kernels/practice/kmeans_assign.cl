// Assignment step of k-means for points of any dimension (structure of arrays). The centroids
// are in local memory, and so are the sizes of the clusters until the group is finished.
// Options: -gline-tables-only
#include "opencl.h"

#define MAX_CLUSTERS 16
#define MAX_DIMS 8

kernel void kmeans_assign(global const float *points, global const float *centroids, global int *assignment,
                          global uint *sizes, int numPoints, int numClusters, int dims)
{
    local float centre[MAX_CLUSTERS * MAX_DIMS];
    local uint count[MAX_CLUSTERS];

    int lid = get_local_id(0);
    int group = get_local_size(0);
    for (int i = lid; i < numClusters * dims; i += group)
        centre[i] = centroids[i];
    for (int i = lid; i < numClusters; i += group)
        count[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int p = get_global_id(0); p < numPoints; p += get_global_size(0)) {
        float best = 3.0e38f;
        int index = 0;
        for (int c = 0; c < numClusters; c++) {
            float distance = 0.0f;
            for (int d = 0; d < dims; d++) {
                float diff = points[d * numPoints + p] - centre[c * dims + d];
                distance += diff * diff;
            }
            if (distance < best) {
                best = distance;
                index = c;
            }
        }
        assignment[p] = index;
        atomic_inc(&count[index]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int i = lid; i < numClusters; i += group)
        if (count[i])
            atomic_add(&sizes[i], count[i]);
}
