// Cheapest path through a grid, row by row: each block advances several rows on a halo that shrinks by one per row.
// Control flow: a loop with barriers, a divergent validity test and a break in the last iteration.
// Launch: 1-D blocks of 256 threads.
extern "C" __global__ void path_finder(const int *wall, const int *before, int *after, int rows, int columns, int start)
{
    const int SIZE = 256;
    __shared__ int current[SIZE], next[SIZE];
    int t = threadIdx.x;
    int column = blockIdx.x * (SIZE - 2 * rows) - rows + t;
    bool inside = column >= 0 && column < columns;
    if (inside)
        current[t] = before[column];
    __syncthreads();
    int west = column == 0 ? t : max(t - 1, 0);
    int east = column == columns - 1 ? t : min(t + 1, SIZE - 1);
    bool computed = false;
#pragma unroll 1
    for (int row = 0; row < rows; row++) {
        computed = false;
        if (inside && t > row && t < SIZE - 1 - row) {
            computed = true;
            next[t] = min(current[t], min(current[west], current[east])) + wall[columns * (start + row) + column];
        }
        __syncthreads();
        if (row == rows - 1)
            break;
        if (computed)
            current[t] = next[t];
        __syncthreads();
    }
    if (computed)
        after[column] = next[t];
}
