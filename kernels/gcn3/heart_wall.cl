// Follows points of a moving wall from one frame to the next: where around its old place does a point's 11 x 11 template
// fit best? Fit is the normalised correlation; sums of products are integers, the quotient and root are floats.
// Places where the template would leave the frame do not count; of equal fits the first place in rows wins.
// Control flow: a divergent loop over places with continue and two loops over the template in it; a maximum of 64-bit keys
// over half a wave by ds_bpermute, then by atomics in LDS.
// Launch: one group per point, 1-D, a multiple of 32 work-items.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

// Key of the lane that is `step` further on in the half of the wave.
static inline ulong from_below(ulong key, int step)
{
    int lane = lane_id(), source = (lane & 31) + step < 32 ? lane + step : lane;
    uint low = from_lane(source, (int)key), high = from_lane(source, (int)(key >> 32));
    return (ulong)high << 32 | low;
}

kernel void heart_wall(global const uchar *frame, int width, int height, global const short2 *points, global const uchar *templates, int reach, global int2 *places, global float *fits)
{
    enum { SIDE = 11, PIXELS = SIDE * SIDE };
    local uchar pattern[PIXELS];
    local int pattern_sum;
    local int pattern_squares;
    local ulong best;
    if (local_x() == 0) {
        pattern_sum = 0;
        pattern_squares = 0;
        best = 0;
    }
    barrier_local();
#pragma unroll 1
    for (int at = local_x(); at < PIXELS; at += group_size_x()) {
        int value = templates[group_x() * PIXELS + at];
        pattern[at] = value;
        atomic_add(&pattern_sum, value);
        atomic_add(&pattern_squares, value * value);
    }
    barrier_local();
    int pattern_variance = PIXELS * pattern_squares - pattern_sum * pattern_sum;
    short2 point = points[group_x()];
    int span = 2 * reach + 1;
    ulong key = 0;
#pragma unroll 1
    for (int place = local_x(); place < span * span; place += group_size_x()) {
        int left = point.x + place % span - reach - SIDE / 2;
        int top = point.y + place / span - reach - SIDE / 2;
        if (left < 0 || top < 0 || left + SIDE > width || top + SIDE > height)
            continue;
        int sum = 0, squares = 0, products = 0;
#pragma unroll 1
        for (int y = 0; y < SIDE; y++)
#pragma unroll 1
            for (int x = 0; x < SIDE; x++) {
                int value = frame[(top + y) * width + left + x];
                sum += value;
                squares += value * value;
                products += value * pattern[y * SIDE + x];
            }
        int variance = PIXELS * squares - sum * sum;
        float fit = 0.0f;
        if (variance > 0 && pattern_variance > 0)
            fit = (float)(PIXELS * products - sum * pattern_sum) / __builtin_sqrtf((float)variance * (float)pattern_variance);
        // Unsigned numbers in the order of the floats.
        uint bits = as_uint(fit);
        bits = bits >> 31 ? ~bits : bits | 0x80000000u;
        ulong candidate = (ulong)bits << 32 | (0xffffffffu - place);
        key = max(key, candidate);
    }
#pragma unroll 1
    for (int step = 16; step > 0; step >>= 1)
        key = max(key, from_below(key, step));
    if ((local_x() & 31) == 0)
        atomic_max(&best, key);
    barrier_local();
    if (local_x() == 0) {
        int2 found = (int2)(-1, -1);
        float fit = -2.0f;
        if (best != 0) {
            uint bits = (uint)(best >> 32);
            int place = 0xffffffffu - (uint)best;
            fit = as_float(bits >> 31 ? bits ^ 0x80000000u : ~bits);
            found = (int2)(point.x + place % span - reach, point.y + place / span - reach);
        }
        places[group_x()] = found;
        fits[group_x()] = fit;
    }
}
