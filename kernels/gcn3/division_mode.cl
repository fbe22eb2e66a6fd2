// Single-precision division with full rounding, where denormal numbers are flushed otherwise.
// Control flow: straight line. s_setreg keeps denormals on within the division, and sets MODE back after it.
// Launch: 1-D, one work-item an element; normal numbers.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

kernel void division_mode(global const float *a, global const float *b, global float *out)
{
    int i = global_x();
    out[i] = a[i] / b[i];
}
