// Heat diffusion on a grid: each group advances its 16 x 16 patch several steps, the valid part shrinks by one each step.
// Control flow: a uniform loop over steps with barriers, a divergent "still valid" test inside, break in the last step, clamped borders.
// Launch: 16 x 16 work-items; the grid covers width / (16 - 2 * steps) patches in each direction.
// Options: -mcode-object-version=5
#include "device.h"

kernel void hotspot(global const float *power, global const float *before, global float *after, int width, int height, int steps, float capacity, float across, float down, float ambient)
{
    enum { SIDE = 16 };
    local float heat[SIDE][SIDE];
    local float scratch[SIDE][SIDE];
    int tx = local_x(), ty = local_y();
    int inner = SIDE - 2 * steps;
    int x = group_x() * inner - steps + tx;
    int y = group_y() * inner - steps + ty;
    bool inside = x >= 0 && x < width && y >= 0 && y < height;
    int at = y * width + x;
    float source = 0.0f;
    if (inside) {
        heat[ty][tx] = before[at];
        source = power[at];
    }
    barrier_local();
    int west = max(tx - 1, x == 0 ? tx : 0), east = min(tx + 1, x == width - 1 ? tx : SIDE - 1);
    int north = max(ty - 1, y == 0 ? ty : 0), south = min(ty + 1, y == height - 1 ? ty : SIDE - 1);
    bool computed = false;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        computed = false;
        if (inside && tx > step && tx < SIDE - 1 - step && ty > step && ty < SIDE - 1 - step) {
            computed = true;
            float here = heat[ty][tx];
            scratch[ty][tx] = here + capacity * (source + (heat[south][tx] + heat[north][tx] - 2.0f * here) * down +
                                                 (heat[ty][east] + heat[ty][west] - 2.0f * here) * across + (80.0f - here) * ambient);
        }
        barrier_local();
        if (step == steps - 1)
            break;
        if (computed)
            heat[ty][tx] = scratch[ty][tx];
        barrier_local();
    }
    if (computed)
        after[at] = scratch[ty][tx];
}
