// Every kind of block-wide barrier: plain, reducing (count, and, or), named with a thread count, arrive without waiting.
// Instructions: BAR.SYNC, BAR.ARV, BAR.RED.POPC/AND/OR, barrier number and count as immediates and in registers.
// Control flow: producer and consumer warps on different sides of a branch that each warp takes as a whole.
// Launch: blocks of 64 threads.
extern "C" __global__ void barrier_reduce(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    int larger = __syncthreads_count(value > n);
    if (__syncthreads_or(value == 0))
        larger += in[n] / (value + 1);
    if (__syncthreads_and(value > larger))
        larger *= in[larger] % n;
    out[i] = larger;
}

extern "C" __global__ void barrier_named(const int *in, int *out, int rounds, int which)
{
    __shared__ int mail[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
#pragma unroll 1
        for (int round = 0; round < rounds; round++) {
            asm volatile("bar.sync 2, 64;" ::: "memory");
            mail[lane] = in[round * 32 + lane];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        }
    } else {
        int sum = 0;
#pragma unroll 1
        for (int round = 0; round < rounds; round++) {
            asm volatile("bar.arrive 2, 64;" ::: "memory");
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += mail[lane];
        }
        out[lane] = sum;
    }
    asm volatile("bar.sync %0, %1;" :: "r"(which), "r"(blockDim.x) : "memory");
    out[32 + threadIdx.x] = mail[lane];
}
