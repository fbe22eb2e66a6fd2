// A kernel calls outer, outer calls inner in a loop.
// Control flow: calls two levels deep, a call in a loop; inner is also called from the kernel itself.
// Launch: 1-D, one work-item per element.
#include "device.h"

NOINLINE static int inner(int x, int y)
{
    return x % y + x / (y + 1);
}

NOINLINE static int outer(int x, int count)
{
    int sum = x;
#pragma unroll 1
    for (int j = 0; j < count; j++)
        sum += inner(sum, j + 2);
    return sum;
}

kernel void call_depth2(global const int *in, global int *out, int n)
{
    int i = global_x();
    int value = outer(in[i], n);
    if (value & 1)
        value = inner(value, n + 1);
    out[i] = value;
}
