// First step of connected component labelling: within each tile, foreground pixels take the
// smallest pixel index that is connected to them, by repeated exchange with the neighbours.
#define TILE 16
#define BACKGROUND (-1)

extern "C" __global__ void ccl_tile_labels(const unsigned char *mask, int *labels, int width, int height)
{
    __shared__ int tile[TILE + 2][TILE + 2];

    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    const bool inside = x < width && y < height;

    // frame of the tile
    if (threadIdx.y == 0) {
        tile[0][tx] = BACKGROUND;
        tile[TILE + 1][tx] = BACKGROUND;
    }
    if (threadIdx.x == 0) {
        tile[ty][0] = BACKGROUND;
        tile[ty][TILE + 1] = BACKGROUND;
    }

    int own = BACKGROUND;
    if (inside && mask[y * width + x] != 0)
        own = y * width + x;
    tile[ty][tx] = own;
    __syncthreads();

    const int dx[4] = {-1, 1, 0, 0};
    const int dy[4] = {0, 0, -1, 1};
    int changed;
    do {
        int best = own;
        if (own != BACKGROUND) {
            for (int d = 0; d < 4; d++) {
                int other = tile[ty + dy[d]][tx + dx[d]];
                if (other != BACKGROUND && other < best)
                    best = other;
            }
        }
        __syncthreads();
        changed = best != own;
        own = best;
        tile[ty][tx] = own;
    } while (__syncthreads_or(changed));

    if (inside)
        labels[y * width + x] = own;
}
