// Calls a function whose code is not in the file (the driver adds it when the module is loaded).
// Control flow: indirect call to an external callee (PRET, then JMX through a constant): vprintf, malloc; a trap (BPT).
// Launch: 1-D.
extern "C" __device__ int printf(const char *, ...);

extern "C" __global__ void external_call(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    if (value > n)
        printf("element %d is %d\n", i, value);
    out[i] = value;
}

extern "C" __global__ void external_malloc(int **lists, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *list = (int *)malloc(n * sizeof(int));
    if (!list)
        asm volatile("trap;");
    lists[i] = list;
}
