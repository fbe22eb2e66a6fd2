// LU decomposition of one 16 x 16 block on the diagonal.
// Control flow: triangular loops with known bounds: the inner trip count is the outer index, the active threads shrink, barriers between.
// Launch: one block of 16 threads.
extern "C" __global__ void lud_diagonal(float *matrix, int width, int offset)
{
    const int SIDE = 16;
    __shared__ float block[SIDE][SIDE];
    int t = threadIdx.x;
    float *corner = matrix + offset * width + offset;
#pragma unroll 1
    for (int row = 0; row < SIDE; row++)
        block[row][t] = corner[row * width + t];
    __syncthreads();
#pragma unroll 1
    for (int pivot = 0; pivot < SIDE - 1; pivot++) {
        if (t > pivot) {
            float lower = block[t][pivot];
#pragma unroll 1
            for (int k = 0; k < pivot; k++)
                lower -= block[t][k] * block[k][pivot];
            block[t][pivot] = lower / block[pivot][pivot];
        }
        __syncthreads();
        if (t > pivot) {
            float upper = block[pivot + 1][t];
#pragma unroll 1
            for (int k = 0; k <= pivot; k++)
                upper -= block[pivot + 1][k] * block[k][t];
            block[pivot + 1][t] = upper;
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int row = 1; row < SIDE; row++)
        corner[row * width + t] = block[row][t];
}
