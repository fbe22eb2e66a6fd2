// Integer matrix product in one block: copy both n x n matrices to shared memory, then one thread computes one element.
// The benchmark of Adalbert, Carle, Rochange, "PasTiS" (ERTS 2022), section V: n = 4, 8, 11.
// Control flow: one loop with the same trip count n for all threads.
// matmul_int takes n as a parameter; matmul_int_fixed<N> knows it at compile time.
// Launch: one block of n x n threads, n <= 32.
extern "C" __global__ void matmul_int(const int *a, const int *b, int *product, int n)
{
    __shared__ int left[32 * 32], right[32 * 32];
    int x = threadIdx.x, y = threadIdx.y;
    int at = y * n + x;
    left[at] = a[at];
    right[at] = b[at];
    __syncthreads();
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; k++)
        sum += left[y * n + k] * right[k * n + x];
    product[at] = sum;
}

template <int N>
__global__ void matmul_int_fixed(const int *a, const int *b, int *product)
{
    __shared__ int left[N][N], right[N][N];
    int x = threadIdx.x, y = threadIdx.y;
    left[y][x] = a[y * N + x];
    right[y][x] = b[y * N + x];
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < N; k++)
        sum += left[y][k] * right[k][x];
    product[y * N + x] = sum;
}

template __global__ void matmul_int_fixed<4>(const int *, const int *, int *);
template __global__ void matmul_int_fixed<8>(const int *, const int *, int *);
template __global__ void matmul_int_fixed<11>(const int *, const int *, int *);
