// Two nested loops that both begin with the same instruction.
// Control flow: one header with two back edges where the compiler joins them; uniform.
// Launch: 1-D, one group, any size.
#include "device.h"

kernel void shared_header(global int *out, int n, int m)
{
    int i = 0, j = 0, s = 0;
    int t = local_x();
    do {
        do {
            s = s * 3 + t;
            ++j;
        } while (j % n);
        ++i;
    } while (i < m);
    out[t] = s;
}
