// Matrix product by square tiles through shared memory, for matrices of tiles x tiles tiles.
// Control flow: a loop over tiles with two barriers, the inner product inside it (a loop, or unrolled).
// The example of Jeanmougin, Carle, Sotin, Rochange, "Warp-Level CFG Construction" (WCET 2023), Figure 3.
// Launch: blocks of TILE x TILE threads, grid of tiles x tiles blocks.
namespace product {
template <typename Element, int TILE, bool UNROLL>
__global__ void tiled(const Element *a, const Element *b, Element *c, int tiles)
{
    __shared__ Element left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int width = tiles * TILE;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    Element sum = 0;
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        left[y][x] = a[row * width + tile * TILE + x];
        right[y][x] = b[(tile * TILE + y) * width + column];
        __syncthreads();
        if constexpr (UNROLL) {
#pragma unroll
            for (int k = 0; k < TILE; k++)
                sum += left[y][k] * right[k][x];
        } else {
#pragma unroll 1
            for (int k = 0; k < TILE; k++)
                sum += left[y][k] * right[k][x];
        }
        __syncthreads();
    }
    c[row * width + column] = sum;
}

template __global__ void tiled<float, 16, true>(const float *, const float *, float *, int);
template __global__ void tiled<float, 16, false>(const float *, const float *, float *, int);
template __global__ void tiled<int, 8, false>(const int *, const int *, int *, int);
template __global__ void tiled<double, 8, false>(const double *, const double *, double *, int);
}

// Any width: the last tile in each direction is partial, so loads are guarded.
extern "C" __global__ void matmul_any_width(const float *a, const float *b, float *c, int width)
{
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0.0f;
#pragma unroll 1
    for (int start = 0; start < width; start += 16) {
        left[y][x] = row < width && start + x < width ? a[row * width + start + x] : 0.0f;
        right[y][x] = column < width && start + y < width ? b[(start + y) * width + column] : 0.0f;
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < 16; k++)
            sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    if (row < width && column < width)
        c[row * width + column] = sum;
}
