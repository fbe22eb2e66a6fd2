// Two function pointers, one of which the parity of the thread chooses; both functions iterate.
// Control flow: an indirect call whose pointer comes from two guarded writes.
// Launch: 1-D, any size.
__device__ __noinline__ int product_sum(int x)
{
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < x; i++)
        sum = sum * 7 + i;
    return sum;
}

__device__ __noinline__ int mixed_sum(int x)
{
    int sum = 1;
#pragma unroll 1
    for (int i = 0; i < x; i++)
        sum = sum * 3 ^ i;
    return sum;
}

typedef int (*Function)(int);

extern "C" __global__ void joined_pointers(int *out, int n)
{
    int t = threadIdx.x;
    Function f = (t & 1) ? product_sum : mixed_sum;
    asm volatile("" : "+l"(f)); // so that the choice is not made by a branch around two calls
    out[blockIdx.x * blockDim.x + t] = f(n + t);
}
