// Accesses through pointers whose memory space is only known when the kernel runs.
// Instructions: LD and ST (generic), ATOM on generic addresses, next to LDS and LDG for the known ones.
// Launch: 1-D blocks of up to 128 threads.
__device__ __noinline__ int sum_through(const volatile int *from, int count)
{
    int sum = 0;
#pragma unroll 1
    for (int j = 0; j < count; j++)
        sum += from[j];
    return sum;
}

extern "C" __global__ void generic_memory(int *data, int *out, int n)
{
    __shared__ int staged[128];
    int own[4];
    int t = threadIdx.x;
    staged[t] = data[t];
    for (int k = 0; k < 4; k++)
        own[k] = t * k;
    __syncthreads();
    volatile int *chosen = data;
    if (t % 3 == 1)
        chosen = staged;
    else if (t % 3 == 2)
        chosen = own;
    chosen[n & 3] = n;
    atomicAdd(t % 2 == 0 ? staged + t : data + t, n);
    out[t] = sum_through(chosen, n & 3) + sum_through(staged, t) + staged[t] + own[n & 1];
}
