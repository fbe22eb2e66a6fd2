// One two-sided branch, and one without an else side; integer divisions on each side.
// Control flow: s_and_saveexec, s_xor and s_andn2_saveexec around two arms with memory accesses.
// Launch: 1-D, one work-item an element.
// Options: -gline-tables-only
#include "device.h"

kernel void if_else(global const int *in, global int *out, int divisor)
{
    int i = global_x();
    int value = in[i];
    if ((value & 1) == 0)
        out[i] = value / divisor + in[i + 1] / (divisor + 1);
    else
        out[i] = value % (divisor + 2) - in[i + 2] % (divisor + 3);
}

kernel void if_only(global const int *in, global int *out, int divisor)
{
    int i = global_x();
    int value = in[i];
    if (value > divisor) {
        out[i + 1] = in[value] / divisor;
        value = value % divisor + in[value / divisor];
    }
    out[i] = value;
}
