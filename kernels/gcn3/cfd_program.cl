// The Euler equations of cfd_flux.cl with the start: every cell gets the state of the far field.
// Control flow of cfd_initialize: a guard, five stores in a uniform loop.
// Launch: 1-D, one work-item per cell.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "cfd_flux.cl"

kernel void cfd_initialize(global float *variables, global const float *far, int cells)
{
    int cell = global_x();
    if (cell < cells)
#pragma unroll 1
        for (int variable = 0; variable < 5; variable++)
            variables[variable * cells + cell] = far[variable];
}
