// Double-precision division, reciprocal and square root, and division of 64-bit integers.
// Control flow: two arms in a uniform loop; a long and a short way for 64-bit integers.
// Launch: 1-D, one work-item per element.
// Options: -mcode-object-version=5
#include "device.h"

kernel void f64_division(global const double *a, global const double *b, global double *out)
{
    int i = global_x();
    out[i] = a[i] / b[i];
}

kernel void f64_sqrt_reciprocal(global const double *a, global double *out, int n)
{
    int i = global_x();
    double value = a[i];
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        if (value > 2.0)
            value = __builtin_sqrt(value);
        else
            value = 1.0 / (value + 0.5);
    }
    out[i] = value;
}

// 64-bit integer division is a subroutine too.
kernel void i64_division(global const long *a, global const long *b, global long *out)
{
    int i = global_x();
    out[i] = a[i] / b[i] + a[i] % b[0];
}
