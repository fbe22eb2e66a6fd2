// Sum of two vectors, one work-item an element.
// Control flow: work-items outside the range leave, so the last wave is partial.
// Launch: 1-D, any group.
// Options: -mcode-object-version=5
#include "device.h"

kernel void vector_add(global const int *a, global const int *b, global int *out, int count)
{
    int i = global_x();
    if (i < count)
        out[i] = a[i] + b[i];
}
