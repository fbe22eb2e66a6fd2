// Both sides of a divergent branch call the same function.
// Control flow: one function body reached from two call sites with different return points, under divergence.
// Launch: 1-D, one thread per element.
__device__ __noinline__ int digit_sum(int x, int base)
{
    int sum = 0;
#pragma unroll 1
    while (x > 0) {
        sum += x % base;
        x /= base;
    }
    return sum;
}

extern "C" __global__ void call_both_sides(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    if (value & 1) {
        out[i] = digit_sum(value, 10);
    } else {
        int first = digit_sum(in[i + n], n);
        out[i + 1] = first * n;
    }
}
