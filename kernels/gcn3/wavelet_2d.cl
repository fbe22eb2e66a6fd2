// Wavelet transforms by lifting: the reversible 5/3 wavelet of integers along rows and along columns, and the 9/7 wavelet of
// floats along rows. Lines of any length of at least two; beyond its ends a line goes on mirrored. The lower half of the
// result is the coarse line, the upper half the details.
// Control flow: strided loops with barriers between the lifting steps; a walk down a column that keeps what the next step
// needs in registers; a uniform loop over steps that reads its factor from a table in the code object.
// Launch: wavelet_rows and wavelet_97 a group per row of up to 1024; wavelet_columns 1-D, one work-item per column.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

kernel void wavelet_rows(global const int *in, global int *out, int width)
{
    local int line[1024];
    in += group_x() * width;
    out += group_x() * width;
#pragma unroll 1
    for (int x = local_x(); x < width; x += group_size_x())
        line[x] = in[x];
    barrier_local();
#pragma unroll 1
    for (int x = 2 * local_x() + 1; x < width; x += 2 * group_size_x()) {
        int left = line[x - 1];
        int right = x + 1 < width ? line[x + 1] : left;
        line[x] -= (left + right) >> 1;
    }
    barrier_local();
    int coarse = (width + 1) / 2;
#pragma unroll 1
    for (int x = 2 * local_x(); x < width; x += 2 * group_size_x()) {
        int left = line[x > 0 ? x - 1 : 1];
        int right = line[x + 1 < width ? x + 1 : x - 1];
        out[x / 2] = line[x] + ((left + right + 2) >> 2);
        if (x + 1 < width)
            out[coarse + x / 2] = line[x + 1];
    }
}

kernel void wavelet_columns(global const int *in, global int *out, int width, int height)
{
    int x = global_x();
    if (x >= width)
        return;
    int coarse = (height + 1) / 2;
    int even = in[x], before = 0;
#pragma unroll 1
    for (int y = 0; y < height; y += 2) {
        int detail = before, next = even;
        if (y + 1 < height) {
            if (y + 2 < height)
                next = in[(y + 2) * width + x];
            detail = in[(y + 1) * width + x] - ((even + next) >> 1);
            out[(coarse + y / 2) * width + x] = detail;
        }
        if (y == 0)
            before = detail;
        out[y / 2 * width + x] = even + ((before + detail + 2) >> 2);
        before = detail;
        even = next;
    }
}

constant float lifting[4] = {-1.5861343f, -0.05298012f, 0.8829111f, 0.4435069f};
constant float scaling = 1.1496044f;

kernel void wavelet_97(global const float *in, global float *out, int width)
{
    local float samples[1024];
    in += group_x() * width;
    out += group_x() * width;
#pragma unroll 1
    for (int x = local_x(); x < width; x += group_size_x())
        samples[x] = in[x];
#pragma unroll 1
    for (int step = 0; step < 4; step++) {
        float factor = lifting[step];
        barrier_local();
#pragma unroll 1
        for (int x = 2 * local_x() + (~step & 1); x < width; x += 2 * group_size_x()) {
            float left = samples[x > 0 ? x - 1 : 1];
            float right = samples[x + 1 < width ? x + 1 : x - 1];
            samples[x] += factor * (left + right);
        }
    }
    barrier_local();
    int coarse = (width + 1) / 2;
#pragma unroll 1
    for (int x = local_x(); x < width; x += group_size_x()) {
        if (x & 1)
            out[coarse + x / 2] = samples[x] * scaling;
        else
            out[x / 2] = samples[x] / scaling;
    }
}
