// Normal equations of point-to-plane ICP: the upper triangle of J'J (21 sums), J'r (6 sums), the
// squared error and the number of inliers, summed up over each work-group.
// Options: -gline-tables-only
#include "opencl.h"

#define SUMS 29
#define GROUP 64

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void icp_normal(global const float4 *source, global const float4 *target, global const float4 *normals, int count,
                float maxDistance, global float *partial)
{
    local float scratch[GROUP];
    float acc[SUMS];
    for (int i = 0; i < SUMS; i++)
        acc[i] = 0.0f;

    for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
        float4 s = source[i], d = target[i] - s, n = normals[i];
        if (d.x * d.x + d.y * d.y + d.z * d.z > maxDistance * maxDistance)
            continue;
        float r = d.x * n.x + d.y * n.y + d.z * n.z;
        float J[6] = {s.y * n.z - s.z * n.y, s.z * n.x - s.x * n.z, s.x * n.y - s.y * n.x, n.x, n.y, n.z};
        int k = 0;
        for (int a = 0; a < 6; a++)
            for (int b = a; b < 6; b++)
                acc[k++] += J[a] * J[b];
        for (int a = 0; a < 6; a++)
            acc[k++] += J[a] * r;
        acc[27] += r * r;
        acc[28] += 1.0f;
    }

    int lid = get_local_id(0);
    for (int k = 0; k < SUMS; k++) {
        scratch[lid] = acc[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = GROUP / 2; step > 0; step /= 2) {
            if (lid < step)
                scratch[lid] += scratch[lid + step];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0)
            partial[get_group_id(0) * SUMS + k] = scratch[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
