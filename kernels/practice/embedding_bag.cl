// Embedding bag of a recommender: mean of the table rows of all categories of a sample, where
// offsets tell where the categories of each sample begin. Work-items share a sample by columns.
// Options: -gline-tables-only
#include "opencl.h"

kernel void embedding_bag(global const float4 *table, global const int *categories, global const int *offsets,
                          global float4 *out, int bags, int vectorsPerRow)
{
    int bag = get_global_id(1);
    if (bag >= bags)
        return;

    int begin = offsets[bag];
    int end = offsets[bag + 1];
    for (int v = get_local_id(0); v < vectorsPerRow; v += get_local_size(0)) {
        float4 sum = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
        for (int i = begin; i < end; i++)
            sum += table[(size_t)categories[i] * vectorsPerRow + v];
        if (end > begin)
            sum *= 1.0f / (end - begin);
        out[bag * vectorsPerRow + v] = sum;
    }
}
