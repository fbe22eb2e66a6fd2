// Finds round cells in an image: for every pixel and several radii the gradient across a circle's edge at 16 points, whose
// mean squared over its variance tells how much like a cell's edge the circle is (the largest over the radii counts);
// then a dilation of those scores with a mask.
// Control flow: two nested uniform loops around a sampling that skips points outside; a doubly nested loop with a guarded maximum.
// Instructions: a table of constants in the code object (s_getpc), conversion to integer by rounding, divisions.
// Launch: leukocyte_score 1-D, one work-item per pixel; leukocyte_dilate 2-D, one work-item per pixel.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

constant float cosines[20] = {1.0f,         0.9238795f,  0.70710677f,  0.38268343f,  0.0f,          -0.38268343f, -0.70710677f,
                                  -0.9238795f,  -1.0f,       -0.9238795f,  -0.70710677f, -0.38268343f,  0.0f,         0.38268343f,
                                  0.70710677f,  0.9238795f,  1.0f,         0.9238795f,   0.70710677f,   0.38268343f};

kernel void leukocyte_score(global const float *gradient_x, global const float *gradient_y, global float *scores, int width, int height, int least_radius, int most_radius)
{
    int pixel = global_x();
    if (pixel >= width * height)
        return;
    int x = pixel % width, y = pixel / width;
    float best = 0.0f;
#pragma unroll 1
    for (int radius = least_radius; radius <= most_radius; radius++) {
        float sum = 0.0f, squares = 0.0f;
        int count = 0;
#pragma unroll 1
        for (int point = 0; point < 16; point++) {
            // The sine is the cosine a quarter further on, turned round.
            float cosine = cosines[point], sine = -cosines[point + 4];
            int px = x + (int)__builtin_rintf(radius * cosine), py = y + (int)__builtin_rintf(radius * sine);
            if (px < 0 || py < 0 || px >= width || py >= height)
                continue;
            int at = py * width + px;
            float across = gradient_x[at] * cosine + gradient_y[at] * sine;
            sum += across;
            squares += across * across;
            count++;
        }
        if (count > 8) {
            float mean = sum / count;
            float variance = (squares - sum * mean) / (count - 1);
            best = __builtin_fmaxf(best, mean * mean / (variance + 0.0625f));
        }
    }
    scores[pixel] = best;
}

kernel void leukocyte_dilate(global const float *in, global const uchar *mask, global float *out, int width, int height, int reach)
{
    int x = global_x(), y = global_y();
    if (x >= width || y >= height)
        return;
    int side = 2 * reach + 1;
    float most = -3.0e38f;
#pragma unroll 1
    for (int dy = -reach; dy <= reach; dy++) {
        if ((uint)(y + dy) >= (uint)height)
            continue;
#pragma unroll 1
        for (int dx = -reach; dx <= reach; dx++)
            if (mask[(dy + reach) * side + dx + reach] && (uint)(x + dx) < (uint)width)
                most = __builtin_fmaxf(most, in[(y + dy) * width + x + dx]);
    }
    out[y * width + x] = most;
}
