// Sparse matrix times vector in CSR format, one warp per row: y = alpha * A x + beta * y.
#define WARP_SIZE 32

template <typename T>
__device__ T warpReduceSum(T v)
{
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

extern "C" __global__ void csr_spmv_warp(const int *__restrict__ rowPtr, const int *__restrict__ colIdx,
                                         const float *__restrict__ values, const float *__restrict__ x,
                                         float *__restrict__ y, int numRows, float alpha, float beta)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP_SIZE;
    int lane = threadIdx.x % WARP_SIZE;
    if (row >= numRows)
        return;

    float sum = 0.0f;
    for (int j = rowPtr[row] + lane; j < rowPtr[row + 1]; j += WARP_SIZE)
        sum += values[j] * x[colIdx[j]];
    sum = warpReduceSum(sum);

    if (lane == 0)
        y[row] = alpha * sum + beta * y[row];
}
