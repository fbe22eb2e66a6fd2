// Two loops written with goto.
// Control flow of goto_irreducible: a cycle with two entries, which the compiler makes one with a dispatch.
// Control flow of goto_cross: forward jumps that cross each other, so regions overlap without nesting.
// Launch: 1-D, one work-item per element.
#include "device.h"

kernel void goto_irreducible(global const int *in, global volatile int *out, int n)
{
    int i = global_x();
    int value = in[i];
    if (value & 1)
        goto right;
left:
    value = in[value & 63] + out[i];
    out[i] = value / n;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    if (value > n)
        goto done;
right:
    value = 3 * value + out[i + 1];
    out[i + 1] = value % n;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    if (value < 5 * n)
        goto left;
done:
    out[i] = value;
}

kernel void goto_cross(global const int *in, global volatile int *out, int n)
{
    int i = global_x();
    int value = in[i];
    if (value & 1)
        goto middle;
    value = in[value & 63] / n;
    out[i] = value;
    if (value & 2)
        goto last;
middle:
    value += in[value & 31] % n;
    out[i + 1] = value;
    if (value & 4)
        goto done;
last:
    value -= in[value & 15] / (n + 1);
    out[i + 2] = value;
done:
    out[i] = value;
}
