// Hough transform for lines: every edge point votes for its distance from the origin at each
// angle of a table. A group votes in local memory for one angle, then stores its histogram.
// Options: -gline-tables-only
#include "opencl.h"

kernel void hough_votes(global const ushort *edgeX, global const ushort *edgeY, int numEdges, global const float2 *angles,
                        global uint *accumulator, int rhoBins, float rhoScale, local uint *votes)
{
    const int lid = get_local_id(0);
    const int lsize = get_local_size(0);
    const int theta = get_group_id(0);

    for (int r = lid; r < rhoBins; r += lsize)
        votes[r] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const float2 a = angles[theta];
    for (int e = lid; e < numEdges; e += lsize) {
        float rho = edgeX[e] * a.x + edgeY[e] * a.y;
        int bin = (int)floor(rho * rhoScale) + rhoBins / 2;
        if (bin >= 0 && bin < rhoBins)
            atomic_inc(&votes[bin]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int r = lid; r < rhoBins; r += lsize)
        accumulator[theta * rhoBins + r] = votes[r];
}
