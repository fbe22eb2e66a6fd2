// Lanes call different functions in each round of a loop; one of the functions calls another in a loop of its own.
// Control flow: three calls under masks in a loop, a nested call in a divergent loop.
// Launch: 1-D, one work-item an element.
// Options: -mcode-object-version=5
#include "device.h"

NOINLINE static int halve(int x, int salt)
{
    return x / 2 + (salt ^ x);
}

NOINLINE static int climb(int x, int salt)
{
    int sum = x;
#pragma unroll 1
    for (int j = 0; j <= (salt & 3); j++)
        sum += halve(sum, j) & 0xff;
    return sum;
}

NOINLINE static int mix(int x, int salt)
{
    return x * 31 + salt;
}

kernel void calls_divergent(global const int *in, global int *out, int rounds)
{
    int i = global_x();
    int x = in[i];
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        uint which = ((uint)x >> 3) % 3;
        if (which == 0)
            x = halve(x, round);
        else if (which == 1)
            x = climb(x, i);
        else
            x = mix(x, round);
    }
    out[i] = x;
}
