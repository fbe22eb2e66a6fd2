// Early returns and exits that are guarded instructions instead of branches.
// Control flow: @P EXIT in the kernel, @P BRK in the loop of a function. (@P RET: call_depth2, call_both_sides.)
// Launch: 1-D; n may be smaller than the number of threads.
__device__ __noinline__ int clamp_divide(int x, int y)
{
    if (x < y)
        return 0;
    int sum = 0;
#pragma unroll 1
    while (true) {
        sum += x;
        x /= y;
        if (x < 2)
            return sum;
        if (sum & 64)
            break;
    }
    return sum * 3;
}

extern "C" __global__ void predicated_exit(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int value = in[i];
    if (value == 0)
        return;
    value = clamp_divide(value, n);
    out[i] = value;
    if (value < 0)
        return;
    out[i + n] = in[value];
}
