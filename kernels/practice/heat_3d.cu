// One explicit step of the heat equation in three dimensions (seven-point stencil). Blocks tile
// x and y; a thread walks along z and keeps the planes behind and ahead in registers.
#define BX 32
#define BY 4

extern "C" __global__ void heat_3d(const float *__restrict__ u, float *__restrict__ next, int nx, int ny, int nz, float k)
{
    __shared__ float plane[BY + 2][BX + 2];

    const int x = blockIdx.x * BX + threadIdx.x;
    const int y = blockIdx.y * BY + threadIdx.y;
    const int tx = threadIdx.x + 1;
    const int ty = threadIdx.y + 1;
    const bool inside = x < nx && y < ny;
    const size_t slice = (size_t)nx * ny;
    size_t at = (size_t)y * nx + x;

    float behind = 0.0f, current = 0.0f, ahead = 0.0f;
    if (inside) {
        behind = u[at];
        current = u[at];
        ahead = nz > 1 ? u[at + slice] : current;
    }

    for (int z = 0; z < nz; z++) {
        if (inside) {
            plane[ty][tx] = current;
            if (threadIdx.x == 0)
                plane[ty][0] = x > 0 ? u[at - 1] : current;
            if (threadIdx.x == BX - 1 || x == nx - 1)
                plane[ty][tx + 1] = x < nx - 1 ? u[at + 1] : current;
            if (threadIdx.y == 0)
                plane[0][tx] = y > 0 ? u[at - nx] : current;
            if (threadIdx.y == BY - 1 || y == ny - 1)
                plane[ty + 1][tx] = y < ny - 1 ? u[at + nx] : current;
        }
        __syncthreads();

        if (inside) {
            float sum = plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx] + behind + ahead;
            next[at] = current + k * (sum - 6.0f * current);
            behind = current;
            current = ahead;
            at += slice;
            if (z + 2 < nz)
                ahead = u[at + slice];
        }
        __syncthreads();
    }
}
