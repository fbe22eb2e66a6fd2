// Sequence alignment: scores of one 16 x 16 tile of the dynamic-programming table, computed by anti-diagonals.
// Control flow: two loops with fixed trip counts; in round m only m+1 (then 15-m) threads work; a barrier in each round.
// Launch: blocks of 16 threads, one block per tile of the current anti-diagonal of tiles.
extern "C" __global__ void needleman_wunsch(const int *similarity, int *scores, int columns, int penalty, int diagonal, int first_tile)
{
    const int SIDE = 16;
    __shared__ int table[SIDE + 1][SIDE + 1];
    __shared__ int gain[SIDE][SIDE];
    int t = threadIdx.x;
    int tile_x = blockIdx.x + first_tile, tile_y = diagonal - tile_x;
    int corner = columns * SIDE * tile_y + SIDE * tile_x;
#pragma unroll 1
    for (int row = 0; row < SIDE; row++)
        gain[row][t] = similarity[corner + (row + 1) * columns + t + 1];
    if (t == 0)
        table[0][0] = scores[corner];
    table[t + 1][0] = scores[corner + (t + 1) * columns];
    table[0][t + 1] = scores[corner + t + 1];
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < SIDE; round++) {
        if (t <= round) {
            int x = t + 1, y = round - t + 1;
            table[y][x] = max(table[y - 1][x - 1] + gain[y - 1][x - 1], max(table[y][x - 1], table[y - 1][x]) - penalty);
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int round = SIDE - 2; round >= 0; round--) {
        if (t <= round) {
            int x = t + SIDE - round, y = SIDE - t;
            table[y][x] = max(table[y - 1][x - 1] + gain[y - 1][x - 1], max(table[y][x - 1], table[y - 1][x]) - penalty);
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int row = 0; row < SIDE; row++)
        scores[corner + (row + 1) * columns + t + 1] = table[row + 1][t + 1];
}
