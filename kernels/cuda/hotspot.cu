// Heat diffusion on a grid: each block advances its 16 x 16 patch several steps, the valid part shrinks by one each step.
// Control flow: a loop over steps with barriers, a divergent "still valid" test inside, break in the last step, clamped borders.
// Launch: 16 x 16 threads; grid covers width / (16 - 2 * steps) patches in each direction.
extern "C" __global__ void hotspot(const float *power, const float *before, float *after, int width, int height, int steps,
                                   float capacity, float across, float down, float ambient)
{
    const int SIDE = 16;
    __shared__ float heat[SIDE][SIDE];
    __shared__ float scratch[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int inner = SIDE - 2 * steps;
    int x = blockIdx.x * inner - steps + tx;
    int y = blockIdx.y * inner - steps + ty;
    bool inside = x >= 0 && x < width && y >= 0 && y < height;
    int at = y * width + x;
    float source = 0.0f;
    if (inside) {
        heat[ty][tx] = before[at];
        source = power[at];
    }
    __syncthreads();
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
        __syncthreads();
        if (step == steps - 1)
            break;
        if (computed)
            heat[ty][tx] = scratch[ty][tx];
        __syncthreads();
    }
    if (computed)
        after[at] = scratch[ty][tx];
}
