// Self-recursion and mutual recursion.
// Control flow: CAL of the function that is running (a cycle in the call graph), local-memory stack frames.
// Launch: 1-D, one thread per element; depth is the recursion limit.
__device__ __noinline__ int fibonacci(int k)
{
    return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2);
}

__device__ __noinline__ int is_odd(int k, int salt);

__device__ __noinline__ int is_even(int k, int salt)
{
    return k == 0 ? salt : is_odd(k - 1, salt * 3) + 1;
}

__device__ __noinline__ int is_odd(int k, int salt)
{
    return k == 0 ? -salt : is_even(k - 1, salt * 5) * 2;
}

extern "C" __global__ void recursion(const int *in, int *out, int depth)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fibonacci(in[i] % depth);
}

extern "C" __global__ void mutual_recursion(const int *in, int *out, int depth)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = is_even(in[i] % depth, i);
}
