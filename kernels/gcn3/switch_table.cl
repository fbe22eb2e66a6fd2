// An eight-way dense switch: each case does something different enough to stay apart.
// Control flow: a tree of comparisons, since lanes may take different cases; eight arms.
// Launch: 1-D, one work-item per element.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

kernel void switch_table(global const int *in, global int *out, int n)
{
    int i = global_x();
    int value = in[i];
    switch (in[i + n]) {
    case 0: out[i] = value * n + 3; break;
    case 1: out[i] = value / n; break;
    case 2: out[i] = in[value] + in[value + 1]; break;
    case 3: out[i] = value % (n + 1); break;
    case 4: out[i + 1] = value ^ 7; out[i] = n; break;
    case 5: atomic_add(&out[value], n); break;
    case 6: out[i] = __builtin_popcount(value) << 3; break;
    case 7: out[i] = (int)(__builtin_sqrtf((float)value)); break;
    default: out[i] = -1;
    }
}
