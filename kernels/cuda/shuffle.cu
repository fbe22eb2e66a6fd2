// Warp shuffles of all four kinds: butterfly sum, prefix sum, broadcast of a computed lane.
// Instructions: SHFL.BFLY, SHFL.UP, SHFL.DOWN, SHFL.IDX, with and without use of the validity predicate.
// Launch: 1-D, full warps.
extern "C" __global__ void shuffle(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int value = in[i];
    int sum = value;
#pragma unroll
    for (int step = 16; step > 0; step >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    int prefix = value;
#pragma unroll 1
    for (int step = 1; step < 32; step <<= 1) {
        int other = __shfl_up_sync(0xffffffffu, prefix, step);
        if (lane >= step)
            prefix += other;
    }
    int next = __shfl_down_sync(0xffffffffu, value, 1, 16);
    int picked = __shfl_sync(0xffffffffu, prefix, value & 31);
    out[i] = sum + prefix * n + (next ^ picked);
}
