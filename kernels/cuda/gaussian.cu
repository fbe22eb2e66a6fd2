// Gaussian elimination, step t: first the multipliers of column t, then the rest of the matrix and the right-hand side.
// Control flow: guards that leave at once, one uniform extra assignment for the first column. No loop on the device.
// Launch: gaussian_multipliers 1-D over rows, gaussian_update 2-D over the remaining matrix.
extern "C" __global__ void gaussian_multipliers(float *multipliers, const float *matrix, int size, int t)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= size - 1 - t)
        return;
    row += t + 1;
    multipliers[row * size + t] = matrix[row * size + t] / matrix[t * size + t];
}

extern "C" __global__ void gaussian_update(const float *multipliers, float *matrix, float *right, int size, int t)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= size - 1 - t || column >= size - t)
        return;
    row += t + 1;
    float factor = multipliers[row * size + t];
    matrix[row * size + column + t] -= factor * matrix[t * size + column + t];
    if (column == 0)
        right[row] -= factor * right[t];
}
