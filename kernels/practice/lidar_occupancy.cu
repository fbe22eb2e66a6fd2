// Updates an occupancy grid with a lidar scan: each beam lowers the log-odds of the cells that
// it crosses (Bresenham's line) and raises that of the cell where it ends.
struct Pose {
    float x, y, theta;
};

extern "C" __global__ void lidar_occupancy(const float *ranges, int numBeams, Pose pose, float angleStep, float maxRange,
                                           float resolution, int *grid, int width, int height, int hitGain, int missGain)
{
    int beam = blockIdx.x * blockDim.x + threadIdx.x;
    if (beam >= numBeams)
        return;

    float r = ranges[beam];
    if (!(r > 0.0f))
        return;
    bool hit = r < maxRange;
    r = fminf(r, maxRange);

    float s, c;
    __sincosf(pose.theta + beam * angleStep, &s, &c);
    int x = (int)floorf(pose.x / resolution);
    int y = (int)floorf(pose.y / resolution);
    const int x1 = (int)floorf((pose.x + r * c) / resolution);
    const int y1 = (int)floorf((pose.y + r * s) / resolution);

    const int dx = abs(x1 - x), dy = -abs(y1 - y);
    const int sx = x < x1 ? 1 : -1, sy = y < y1 ? 1 : -1;
    int err = dx + dy;

    while (x != x1 || y != y1) {
        if (x < 0 || y < 0 || x >= width || y >= height)
            return;
        atomicSub(&grid[y * width + x], missGain);
        int e2 = 2 * err;
        if (e2 >= dy) {
            err += dy;
            x += sx;
        }
        if (e2 <= dx) {
            err += dx;
            y += sy;
        }
    }
    if (hit && x >= 0 && y >= 0 && x < width && y < height)
        atomicAdd(&grid[y * width + x], hitGain);
}
