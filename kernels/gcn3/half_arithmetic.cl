// Half-precision sums, products and comparisons, with denormal numbers kept.
// Instructions: v_add_f16, v_mul_f16, v_fma_f16, v_max_f16, v_cvt_f16_f32, v_cvt_f32_f16, v_cmp of halves.
// Launch: 1-D, one work-item an element.
#include "device.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void half_arithmetic(global const ushort *a, global const ushort *b, global ushort *sums, global ushort *products, global float *wide)
{
    int i = global_x();
    half x = __builtin_bit_cast(half, a[i]), y = __builtin_bit_cast(half, b[i]);
    sums[i] = __builtin_bit_cast(ushort, (half)(x + y));
    products[i] = __builtin_bit_cast(ushort, (half)(x * y));
    wide[i] = x < y ? (float)x + (float)y : (float)x * 2.0f;
}
