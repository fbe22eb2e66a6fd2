// a * x + y in place, a strided loop over the vector.
// Control flow: loop whose trip count differs by at most one between work-items.
// Launch: 1-D, any group and grid.
#include "device.h"

kernel void saxpy(global const float *x, global float *y, float a, int count)
{
#pragma unroll 1
    for (int i = global_x(); i < count; i += grid_items_x())
        y[i] = a * x[i] + y[i];
}
