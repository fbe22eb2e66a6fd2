// Sequence alignment: scores of one 16 x 16 tile of the dynamic-programming table, computed by anti-diagonals.
// Control flow: uniform loops with fixed trip counts; in round m only m+1 (then 15-m) lanes work.
// Launch: groups of 16 work-items, one group per tile of the current anti-diagonal of tiles.
// Options: -gline-tables-only
#include "device.h"

kernel void needleman_wunsch(global const int *similarity, global int *scores, int columns, int penalty, int diagonal, int first_tile)
{
    enum { SIDE = 16 };
    local int table[SIDE + 1][SIDE + 1];
    local int gain[SIDE][SIDE];
    int t = local_x();
    int tile_x = group_x() + first_tile, tile_y = diagonal - tile_x;
    int corner = columns * SIDE * tile_y + SIDE * tile_x;
#pragma unroll 1
    for (int row = 0; row < SIDE; row++)
        gain[row][t] = similarity[corner + (row + 1) * columns + t + 1];
    if (t == 0)
        table[0][0] = scores[corner];
    table[t + 1][0] = scores[corner + (t + 1) * columns];
    table[0][t + 1] = scores[corner + t + 1];
    barrier_local();
#pragma unroll 1
    for (int round = 0; round < SIDE; round++) {
        if (t <= round) {
            int x = t + 1, y = round - t + 1;
            table[y][x] = max(table[y - 1][x - 1] + gain[y - 1][x - 1], max(table[y][x - 1], table[y - 1][x]) - penalty);
        }
        barrier_local();
    }
#pragma unroll 1
    for (int round = SIDE - 2; round >= 0; round--) {
        if (t <= round) {
            int x = t + SIDE - round, y = SIDE - t;
            table[y][x] = max(table[y - 1][x - 1] + gain[y - 1][x - 1], max(table[y][x - 1], table[y - 1][x]) - penalty);
        }
        barrier_local();
    }
#pragma unroll 1
    for (int row = 0; row < SIDE; row++)
        scores[corner + (row + 1) * columns + t + 1] = table[row + 1][t + 1];
}
