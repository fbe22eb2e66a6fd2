// Rounds until no lane of the wave has work: each lane halves or grows its number, all lanes see how many still work.
// Control flow: a loop whose end all lanes decide together (s_cbranch_vccnz or scc), with a divergent branch in it.
// Launch: 1-D, any group; numbers above 0.
// Options: -mcode-object-version=5
#include "device.h"

kernel void wave_votes(global const int *in, global int *rounds, global int *helpers)
{
    int i = global_x();
    int x = in[i], number = 0, seen = 0;
#pragma unroll 1
    while (ballot(x > 1)) {
        if (x > 1) {
            x = x & 1 ? 3 * x + 1 : x / 2;
            number++;
        }
        seen += __builtin_popcountl(ballot(x == 1));
    }
    rounds[i] = number;
    helpers[i] = seen;
}
