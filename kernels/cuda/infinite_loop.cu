// A loop without any way out, and one that only some threads enter.
// Control flow: a cycle from which no EXIT can be reached; infinite_loop has no EXIT instruction at all.
// Launch: 1-D; never returns.
extern "C" __global__ void infinite_loop(volatile int *data, int n)
{
    int i = threadIdx.x;
    for (;;)
        data[i] = data[i + 1] + n;
}

extern "C" __global__ void infinite_for_some(volatile int *data, int n)
{
    int i = threadIdx.x;
    if (data[i] > n)
        for (;;)
            data[i] = data[i + 1] / n;
    data[i] = n;
}
