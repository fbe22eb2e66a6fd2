// The functions that the hardware approximates: reciprocal, roots, powers and logarithms of 2, sine and cosine of turns.
// Instructions: v_rcp, v_rsq, v_sqrt, v_exp, v_log, v_sin, v_cos, v_fract, v_frexp, v_ldexp.
// Launch: 1-D, one work-item an element; normal numbers above 0.
#include "device.h"

kernel void f32_special(global const float *in, global float *powers, global float *waves, global float *parts, int count)
{
    int i = global_x();
    if (i >= count)
        return;
    float x = in[i];
    powers[i] = __builtin_amdgcn_rcpf(x);
    powers[i + count] = __builtin_amdgcn_rsqf(x);
    powers[i + 2 * count] = __builtin_amdgcn_sqrtf(x);
    powers[i + 3 * count] = __builtin_amdgcn_exp2f(x);
    waves[i] = __builtin_amdgcn_logf(x);
    waves[i + count] = __builtin_amdgcn_sinf(x);
    waves[i + 2 * count] = __builtin_amdgcn_cosf(x);
    parts[i] = __builtin_amdgcn_fractf(x) + __builtin_amdgcn_frexp_mantf(x);
}

// Exact operations of singles: rounding, minima of three, clamped sums, conversions of bytes and halves.
kernel void f32_exact(global const float *a, global const float *b, global float *out, global uint *packed)
{
    int i = global_x();
    float x = a[i], y = b[i];
    float sum = __builtin_floorf(x) + __builtin_ceilf(y) - __builtin_truncf(x) + __builtin_rintf(y);
    sum += __builtin_amdgcn_fmed3f(x, y, 1.0f) + __builtin_fmaxf(-x, __builtin_fabsf(y));
    sum += __builtin_fminf(__builtin_fmaxf(x + y, 0.0f), 1.0f) * 4.0f;
    sum += (float)((int)x) + (float)((uint)__builtin_fabsf(y));
    out[i] = sum;
    packed[i] = (uint)((int)x & 0xff) << 8 | (uint)(x < y) | (uint)(x >= y) << 1 | (uint)(x != y) << 2;
}
