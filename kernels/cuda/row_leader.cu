// The first thread of each row of a block replaces the numbers of the row by their places in a table.
// Control flow: @EXIT (second kernel: a branch) that the thread's place in its block decides; behind it, in a loop, a search that
// lanes leave one by one.
// Launch: 2-D blocks, one thread per number.
__device__ __forceinline__ int place(const int *table, int m, int number)
{
#pragma unroll 1
    for (int k = 0; k < m; k++) {
        if (table[k] == number)
            return k + number / (k + 3);
    }
    return -1;
}

extern "C" __global__ void row_leader(const int *in, const int *table, int *out, int m)
{
    if (threadIdx.x != 0)
        return;
    int first = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int j = 0; j < blockDim.x; j++)
        out[first + j] = place(table, m, in[first + j]);
}

extern "C" __global__ void row_leader_shared(const int *in, const int *table, int *out, int m)
{
    __shared__ int sums[32];
    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        int sum = 0;
#pragma unroll 1
        for (int j = 0; j < blockDim.x; j++)
            sum += place(table, m, in[i + j]);
        sums[threadIdx.y] = sum;
    }
    __syncthreads();
    out[i] = sums[threadIdx.y] + threadIdx.x;
}
