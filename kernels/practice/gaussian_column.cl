// Vertical pass of a separable Gaussian blur on a float image. A work-group keeps a strip of
// columns with its margins in local memory; rows outside of the image are reflected.
// Options: -gline-tables-only
#include "opencl.h"

#define RADIUS 4
#define STRIP_W 16
#define STRIP_H 16

constant float weights[RADIUS + 1] = {0.20236f, 0.17914f, 0.12425f, 0.06754f, 0.02789f};

int reflect_row(int y, int height)
{
    if (y < 0)
        y = -y - 1;
    if (y >= height)
        y = 2 * height - 1 - y;
    return clamp(y, 0, height - 1);
}

__attribute__((reqd_work_group_size(STRIP_W, STRIP_H, 1)))
kernel void gaussian_column(global const float *src, global float *dst, int width, int height)
{
    local float strip[STRIP_H + 2 * RADIUS][STRIP_W];

    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_global_id(0), y = get_global_id(1);
    int top = (int)get_group_id(1) * STRIP_H - RADIUS;

    if (x < width) {
        for (int r = ly; r < STRIP_H + 2 * RADIUS; r += STRIP_H)
            strip[r][lx] = src[reflect_row(top + r, height) * width + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (x >= width || y >= height)
        return;
    float sum = weights[0] * strip[ly + RADIUS][lx];
    for (int k = 1; k <= RADIUS; k++)
        sum += weights[k] * (strip[ly + RADIUS - k][lx] + strip[ly + RADIUS + k][lx]);
    dst[y * width + x] = sum;
}
