// Sparse matrix times vector, rows compressed: one thread per row, and one warp per row.
// Control flow: row loops with data-dependent trip counts, divergent (thread per row) or nearly together (warp per row).
// Launch: 1-D.
namespace sparse {
template <typename Value>
__global__ void thread_per_row(const int *starts, const int *columns, const Value *values, const Value *x, Value *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    Value sum = 0;
#pragma unroll 1
    for (int at = starts[row]; at < starts[row + 1]; at++)
        sum += values[at] * x[columns[at]];
    y[row] = sum;
}

template __global__ void thread_per_row<float>(const int *, const int *, const float *, const float *, float *, int);
template __global__ void thread_per_row<double>(const int *, const int *, const double *, const double *, double *, int);

__global__ void warp_per_row(const int *starts, const int *columns, const float *values, const float *x, float *y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0.0f;
    int end = starts[row + 1];
#pragma unroll 1
    for (int at = starts[row] + lane; at < end; at += 32)
        sum += values[at] * x[columns[at]];
#pragma unroll
    for (int step = 16; step > 0; step >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (lane == 0)
        y[row] = sum;
}
}
