// C = A * B for row-major matrices of any size, with square tiles in shared memory.
template <int TILE>
__device__ void multiplyTile(const float (&a)[TILE][TILE], const float (&b)[TILE][TILE], float &sum)
{
    for (int k = 0; k < TILE; ++k)
        sum += a[threadIdx.y][k] * b[k][threadIdx.x];
}

constexpr int BS = 16;

extern "C" __global__ void gemm_tiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[BS][BS];
    __shared__ float Bs[BS][BS];

    int row = blockIdx.y * BS + threadIdx.y;
    int col = blockIdx.x * BS + threadIdx.x;
    float sum = 0.0f;

    int tiles = (K + BS - 1) / BS;
    for (int t = 0; t < tiles; ++t) {
        int ak = t * BS + threadIdx.x;
        int bk = t * BS + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = (row < M && ak < K) ? A[row * K + ak] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = (bk < K && col < N) ? B[bk * N + col] : 0.0f;
        __syncthreads();
        multiplyTile<BS>(As, Bs, sum);
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}
