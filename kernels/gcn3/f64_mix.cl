// Doubles: fused multiply-add, minima, rounding to integers, conversions, exponents and fractions.
// Instructions: v_fma_f64, v_min_f64, v_floor, v_trunc, v_rndne, v_ldexp, v_frexp, v_cvt, v_fract, v_cmp of 64 bits.
// Launch: 1-D, one work-item an element; moderate numbers.
#include "device.h"

kernel void f64_mix(global const double *a, global const double *b, global double *out, global int *whole)
{
    int i = global_x();
    double x = a[i], y = b[i];
    double sum = __builtin_fma(x, y, 1.5) + __builtin_fmin(x, y) - __builtin_fmax(x, 2.0);
    sum += __builtin_floor(x) - __builtin_trunc(y) + __builtin_rint(x) + __builtin_ceil(y);
    sum += __builtin_ldexp(x, (int)y & 15) + __builtin_amdgcn_frexp_mant(y) + __builtin_amdgcn_frexp_exp(x);
    if (x < y)
        sum -= (double)(float)x + (double)(int)x;
    out[i] = sum;
    whole[i] = (int)y + (int)(uint)__builtin_fabs(x);
}
