// A kernel calls outer, outer calls inner in a loop.
// Control flow: CAL/RET two levels deep; inner is also called from the kernel itself.
// Launch: 1-D, one thread per element.
namespace depth {
__device__ __noinline__ int inner(int x, int y)
{
    return x % y + x / (y + 1);
}

__device__ __noinline__ int outer(int x, int count)
{
    int sum = x;
#pragma unroll 1
    for (int j = 0; j < count; j++)
        sum += inner(sum, j + 2);
    return sum;
}
}

extern "C" __global__ void call_depth2(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = depth::outer(in[i], n);
    if (value & 1)
        value = depth::inner(value, n + 1);
    out[i] = value;
}
