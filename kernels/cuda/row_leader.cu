// The first thread of each row of a block replaces the numbers of the row by their places in a table.
// Control flow: @EXIT (second kernel: a branch) that the thread's place in its block decides; behind it, in a loop, a search that
// lanes leave one by one.
// Launch: 2-D blocks, a row of each for a row of the input; any number of columns.
__device__ __forceinline__ int place(const int *table, int m, int number)
{
#pragma unroll 1
    for (int k = 0; k < m; k++) {
        if (table[k] == number)
            return k + number / (k + 3);
    }
    return -1;
}

extern "C" __global__ void row_leader(const int *in, const int *table, int *out, int n, int m)
{
    if (threadIdx.x != 0)
        return;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
#pragma unroll 1
    for (int j = 0; j < n; j++)
        out[row * n + j] = place(table, m, in[row * n + j]);
}

extern "C" __global__ void row_leader_shared(const int *in, const int *table, int *out, int n, int m)
{
    __shared__ int sums[32];
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (threadIdx.x == 0) {
        int sum = 0;
#pragma unroll 1
        for (int j = 0; j < n; j++)
            sum += place(table, m, in[row * n + j]);
        sums[threadIdx.y] = sum;
    }
    __syncthreads();
    out[row * blockDim.x + threadIdx.x] = sums[threadIdx.y] + threadIdx.x;
}
