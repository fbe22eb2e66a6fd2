// Groups that have nothing to do end at once, others after a loop that a word of memory ends.
// Control flow: several s_endpgm that scalar branches lead to, a loop on SCC; all lanes agree everywhere.
// Launch: 1-D.
// Options: -mcode-object-version=5
#include "device.h"

kernel void uniform_exit(constant const int *plan, global const int *in, global int *out, int most)
{
    int group = group_x();
    int todo = plan[group];
    if (todo == 0)
        return;
    int i = global_x();
    if (todo < 0) {
        out[i] = in[i] - todo;
        return;
    }
    int sum = 0;
#pragma unroll 1
    for (int round = 0; round < todo && round < most; round++)
        sum += in[i] * plan[round];
    out[i] = sum;
}
