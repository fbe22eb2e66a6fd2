// A warp for each row of a sparse matrix: the row pointers decide how long its loop is, the column indices which words are
// read.
extern "C" __global__ void sparse_rows(const int *row_start, const unsigned short *column, const float *value, const float *x,
                                       float *y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = row_start[row] + lane; i < row_start[row + 1]; i += 32)
        sum += value[i] * x[column[i]];
    for (int apart = 16; apart > 0; apart /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, apart);
    if (lane == 0)
        y[row] = sum;
}
