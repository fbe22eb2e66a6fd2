// One generation of Conway's Game of Life on a torus, 32 cells to a word: neighbours are
// added up bit by bit in carry-save form.
// Options: -gline-tables-only
#include "opencl.h"

void add_bits(uint v, uint *ones, uint *twos, uint *fours)
{
    uint carry = *ones & v;
    *ones ^= v;
    uint carry2 = *twos & carry;
    *twos ^= carry;
    *fours |= carry2;
}

kernel void life_bits(global const uint *now, global uint *next, int wordsPerRow, int rows)
{
    int total = wordsPerRow * rows;
    for (int i = get_global_id(0); i < total; i += get_global_size(0)) {
        int col = i % wordsPerRow;
        int row = i / wordsPerRow;
        int left = (col + wordsPerRow - 1) % wordsPerRow;
        int right = (col + 1) % wordsPerRow;

        uint ones = 0, twos = 0, fours = 0;
        uint self = 0;
        for (int dy = -1; dy <= 1; dy++) {
            int r = (row + dy + rows) % rows;
            uint middle = now[r * wordsPerRow + col];
            uint west = (middle << 1) | (now[r * wordsPerRow + left] >> 31);
            uint east = (middle >> 1) | (now[r * wordsPerRow + right] << 31);
            add_bits(west, &ones, &twos, &fours);
            add_bits(east, &ones, &twos, &fours);
            if (dy == 0)
                self = middle;
            else
                add_bits(middle, &ones, &twos, &fours);
        }
        next[i] = ~fours & twos & (ones | self);
    }
}
