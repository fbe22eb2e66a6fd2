// Follows points of a moving wall from one frame to the next: where around its old place does a point's 11 x 11 template
// fit best? Fit is the normalised correlation; sums of products are integers, the quotient and root are floats.
// Places where the template would leave the frame do not count; of equal fits the first place in rows wins.
// Control flow: a divergent loop over places with two loops over the template in it; a maximum of 64-bit keys by shuffles,
// then by atomics on shared memory.
// Launch: one block per point, 1-D, full warps.
extern "C" __global__ void heart_wall(const unsigned char *frame, int width, int height, const short2 *points,
                                      const unsigned char *templates, int reach, int2 *places, float *fits)
{
    const int SIDE = 11, PIXELS = SIDE * SIDE;
    __shared__ unsigned char pattern[PIXELS];
    __shared__ int pattern_sum, pattern_squares;
    __shared__ unsigned long long best;
    if (threadIdx.x == 0) {
        pattern_sum = 0;
        pattern_squares = 0;
        best = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int at = threadIdx.x; at < PIXELS; at += blockDim.x) {
        int value = templates[blockIdx.x * PIXELS + at];
        pattern[at] = value;
        atomicAdd(&pattern_sum, value);
        atomicAdd(&pattern_squares, value * value);
    }
    __syncthreads();
    int pattern_variance = PIXELS * pattern_squares - pattern_sum * pattern_sum;
    short2 point = points[blockIdx.x];
    int span = 2 * reach + 1;
    unsigned long long key = 0;
#pragma unroll 1
    for (int place = threadIdx.x; place < span * span; place += blockDim.x) {
        int left = point.x + place % span - reach - SIDE / 2;
        int top = point.y + place / span - reach - SIDE / 2;
        if (left < 0 || top < 0 || left + SIDE > width || top + SIDE > height)
            continue;
        int sum = 0, squares = 0, products = 0;
#pragma unroll 1
        for (int y = 0; y < SIDE; y++)
#pragma unroll 1
            for (int x = 0; x < SIDE; x++) {
                int value = __ldg(frame + (top + y) * width + left + x);
                sum += value;
                squares += value * value;
                products += value * pattern[y * SIDE + x];
            }
        int variance = PIXELS * squares - sum * sum;
        float fit = 0.0f;
        if (variance > 0 && pattern_variance > 0)
            fit = (float)(PIXELS * products - sum * pattern_sum) / sqrtf((float)variance * (float)pattern_variance);
        // Unsigned numbers in the order of the floats.
        unsigned bits = __float_as_uint(fit);
        bits = bits >> 31 ? ~bits : bits | 0x80000000u;
        unsigned long long candidate = (unsigned long long)bits << 32 | (0xffffffffu - place);
        key = max(key, candidate);
    }
#pragma unroll 1
    for (int step = 16; step > 0; step >>= 1)
        key = max(key, __shfl_down_sync(0xffffffffu, key, step));
    if ((threadIdx.x & 31) == 0)
        atomicMax(&best, key);
    __syncthreads();
    if (threadIdx.x == 0) {
        int2 found = make_int2(-1, -1);
        float fit = -2.0f;
        if (best != 0) {
            unsigned bits = (unsigned)(best >> 32);
            int place = 0xffffffffu - (unsigned)best;
            fit = __uint_as_float(bits >> 31 ? bits ^ 0x80000000u : ~bits);
            found = make_int2(point.x + place % span - reach, point.y + place / span - reach);
        }
        places[blockIdx.x] = found;
        fits[blockIdx.x] = fit;
    }
}
