// Single-precision division with full rounding.
// Control flow: straight line. Denormal numbers are kept (MODE at the start of the wave).
// Launch: 1-D, one work-item an element.
// Options: -cl-fp32-correctly-rounded-divide-sqrt -Xclang -fdenormal-fp-math-f32=ieee
#include "device.h"

kernel void f32_division(global const float *a, global const float *b, global float *out)
{
    int i = global_x();
    out[i] = a[i] / b[i];
}

kernel void f32_continued_fraction(global const float *terms, global float *out, int n)
{
    int i = global_x();
    float value = terms[i];
#pragma unroll 1
    for (int j = 0; j < n; j++)
        value = terms[j] / value;
    out[i] = value;
}
