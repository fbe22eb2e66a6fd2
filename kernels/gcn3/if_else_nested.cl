// Three levels of two-sided branches on independent bits of the input.
// Control flow: nested if/else, so masks saved inside masks.
// Launch: 1-D, one work-item per element.
// Options: -gline-tables-only
#include "device.h"

kernel void if_else_nested(global const int *in, global int *out, int divisor)
{
    int i = global_x();
    int value = in[i];
    int result;
    if (value & 1) {
        if (value & 2) {
            if (value & 4)
                result = value / divisor;
            else
                result = in[value & 63] / (divisor + 1);
            out[i + 1] = result;
        } else {
            result = value % (divisor + 2);
        }
        result += in[result & 31];
    } else {
        if (value & 8)
            result = in[value & 15] % (divisor + 3);
        else
            result = 7 + value / (divisor + 4);
        out[i + 2] = result;
    }
    out[i] = result;
}
