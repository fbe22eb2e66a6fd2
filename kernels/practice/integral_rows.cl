// Row pass of an integral image and of the integral of squares: a group scans one row in
// chunks of its size, with a simple doubling scan in local memory.
// Options: -gline-tables-only
#include "opencl.h"

#define GROUP 64

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void integral_rows(global const uchar *image, global uint *sum, global ulong *squares, int width)
{
    local uint a[GROUP];
    local uint b[GROUP];

    const int lid = get_local_id(0);
    const size_t row = get_group_id(0);
    uint carry = 0;
    ulong carrySquares = 0;

    for (int start = 0; start < width; start += GROUP) {
        int x = start + lid;
        uint pixel = x < width ? image[row * width + x] : 0;
        a[lid] = pixel;
        b[lid] = pixel * pixel;
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int offset = 1; offset < GROUP; offset *= 2) {
            uint s = 0, q = 0;
            if (lid >= offset) {
                s = a[lid - offset];
                q = b[lid - offset];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            a[lid] += s;
            b[lid] += q;
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        if (x < width) {
            sum[row * width + x] = carry + a[lid];
            squares[row * width + x] = carrySquares + b[lid];
        }
        carry += a[GROUP - 1];
        carrySquares += b[GROUP - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
