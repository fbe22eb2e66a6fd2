// Sobel gradient magnitude of an 8-bit image. A block loads its tile and a border of one
// pixel into shared memory; the image is extended by its edge pixels.
#define TILE_W 16
#define TILE_H 16

__device__ int clampi(int v, int lo, int hi)
{
    return v < lo ? lo : (v > hi ? hi : v);
}

extern "C" __global__ void sobel_tile(const unsigned char *src, unsigned char *dst, int width, int height, int pitch)
{
    __shared__ unsigned char tile[TILE_H + 2][TILE_W + 2];

    int x0 = blockIdx.x * TILE_W - 1;
    int y0 = blockIdx.y * TILE_H - 1;
    for (int ty = threadIdx.y; ty < TILE_H + 2; ty += TILE_H) {
        for (int tx = threadIdx.x; tx < TILE_W + 2; tx += TILE_W) {
            int sx = clampi(x0 + tx, 0, width - 1);
            int sy = clampi(y0 + ty, 0, height - 1);
            tile[ty][tx] = src[sy * pitch + sx];
        }
    }
    __syncthreads();

    int x = blockIdx.x * TILE_W + threadIdx.x;
    int y = blockIdx.y * TILE_H + threadIdx.y;
    if (x >= width || y >= height)
        return;

    const int weight[3] = {1, 2, 1};
    int gx = 0, gy = 0;
    for (int k = 0; k < 3; k++) {
        gx += weight[k] * (tile[threadIdx.y + k][threadIdx.x + 2] - tile[threadIdx.y + k][threadIdx.x]);
        gy += weight[k] * (tile[threadIdx.y + 2][threadIdx.x + k] - tile[threadIdx.y][threadIdx.x + k]);
    }
    int mag = abs(gx) + abs(gy);
    dst[y * pitch + x] = (unsigned char)min(mag, 255);
}
