// Calls one of three functions through a pointer that depends on the data.
// Control flow: indirect call (PRET, then BRX through a register).
// Launch: 1-D, one thread per element.
typedef int (*operation)(int, int);

__device__ __noinline__ int add_scaled(int x, int y) { return x + 3 * y; }
__device__ __noinline__ int divide(int x, int y) { return x / y; }
__device__ __noinline__ int count_down(int x, int y)
{
    int steps = 0;
#pragma unroll 1
    for (; x > 0; x -= y)
        steps++;
    return steps;
}

extern "C" __global__ void function_pointer(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    operation table[3] = {add_scaled, divide, count_down};
    out[i] = table[(unsigned)in[i] % 3](in[i + n], n);
}

// The pointer is the same for the whole launch, but not known statically.
extern "C" __global__ void function_pointer_uniform(const int *in, int *out, int n, int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    operation f = which == 0 ? divide : count_down;
    out[i] = f(in[i], n) + 1;
}
