// A table that all lanes read at the same places: scalar loads of one to sixteen words.
// Control flow: a uniform loop whose count comes from a scalar load.
// Launch: 1-D; `table` starts with the number of rounds, 16 words a round follow from word 16 on.
#include "device.h"

kernel void scalar_table(constant const int *table, global const int *in, global int *out)
{
    int i = global_x();
    int x = in[i];
    int rounds = table[0];
#pragma unroll 1
    for (int round = 1; round <= rounds; round++) {
        constant const int *row = table + 16 * round;
#pragma unroll
        for (int k = 0; k < 16; k++)
            x = (x ^ row[k]) + (x << (k & 3));
    }
    out[i] = x + table[1] * table[3];
}
