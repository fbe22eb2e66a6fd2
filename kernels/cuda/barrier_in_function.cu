// A block-wide sum done by a function that holds barriers.
// Control flow: BAR.SYNC inside a called function and inside its loop; the function is called twice.
// Launch: 1-D blocks of 256 threads.
__shared__ int cells[256];

__device__ __noinline__ int block_sum(int value)
{
    int t = threadIdx.x;
    cells[t] = value;
    __syncthreads();
#pragma unroll 1
    for (int step = blockDim.x / 2; step > 0; step >>= 1) {
        if (t < step)
            cells[t] += cells[t + step];
        __syncthreads();
    }
    int sum = cells[0];
    __syncthreads();
    return sum;
}

extern "C" __global__ void barrier_in_function(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = block_sum(in[i]);
    int norm = block_sum(in[i] * in[i] / n);
    out[i] = sum * norm;
}
