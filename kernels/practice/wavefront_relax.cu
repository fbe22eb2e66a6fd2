// One round of path planning on a cost map: cells of the frontier relax their eight
// neighbours (diagonal steps cost more), improved cells join the next frontier.
#define OBSTACLE 254

__constant__ int stepX[8] = {1, 1, 0, -1, -1, -1, 0, 1};
__constant__ int stepY[8] = {0, 1, 1, 1, 0, -1, -1, -1};

extern "C" __global__ void wavefront_relax(const unsigned char *cost, const unsigned char *frontier, unsigned char *next,
                                           int *distance, int width, int height, int *changed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int cell = y * width + x;
    if (!frontier[cell])
        return;

    int base = distance[cell];
    for (int d = 0; d < 8; d++) {
        int nx = x + stepX[d];
        int ny = y + stepY[d];
        if (nx < 0 || nx >= width || ny < 0 || ny >= height)
            continue;
        int n = ny * width + nx;
        int c = cost[n];
        if (c >= OBSTACLE)
            continue;
        int step = (d & 1) ? 14 : 10;
        int candidate = base + step + c;
        if (candidate < atomicMin(&distance[n], candidate)) {
            next[n] = 1;
            *changed = 1;
        }
    }
}
