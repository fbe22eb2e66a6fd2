// Matrix transpose through a padded shared-memory tile (no bank conflicts), and the naive one.
// Control flow: fixed loops of four rounds, one rolled and one unrolled; a single barrier.
// Launch: blocks of 32 x 8 threads.
extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll 1
    for (int row = 0; row < 32; row += 8)
        tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
    for (int row = 0; row < 32; row += 8)
        out[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
}

extern "C" __global__ void transpose_naive(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll 1
    for (int row = 0; row < 32; row += 8)
        if (x < width && y + row < height)
            out[x * height + y + row] = in[(y + row) * width + x];
}
