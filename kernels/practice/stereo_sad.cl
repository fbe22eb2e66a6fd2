// Block matching of a rectified stereo pair: for each pixel the disparity with the least sum of
// absolute differences in a 5x5 window; uncertain matches become 255.
// Options: -gline-tables-only
#include "opencl.h"

#define HALF 2

kernel void stereo_sad(global const uchar *left, global const uchar *right, global uchar *disparity,
                       int width, int height, int maxDisparity, int uniqueness)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    if (x < HALF + maxDisparity || x >= width - HALF || y < HALF || y >= height - HALF) {
        disparity[y * width + x] = 255;
        return;
    }

    uint best = 0xffffffff, second = 0xffffffff;
    int where = 255;
    for (int d = 0; d <= maxDisparity; d++) {
        uint sum = 0;
        for (int dy = -HALF; dy <= HALF; dy++) {
            int line = (y + dy) * width + x;
            for (int dx = -HALF; dx <= HALF; dx++)
                sum += abs_diff(left[line + dx], right[line + dx - d]);
        }
        if (sum < best) {
            second = best;
            best = sum;
            where = d;
        } else if (sum < second) {
            second = sum;
        }
    }
    disparity[y * width + x] = best * (100 + uniqueness) / 100 < second ? where : 255;
}
