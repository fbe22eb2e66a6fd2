// Arithmetic and comparisons of 64-bit integers.
// Instructions: v_addc, v_subb, v_lshlrev_b64, v_lshrrev_b64, v_ashrrev_i64, v_mad_u64_u32, v_cmp of 64 bits.
// Control flow: one branch on a comparison of 64 bits.
// Launch: 1-D, one work-item an element.
#include "device.h"

kernel void i64_mix(global const long *a, global const long *b, global long *out)
{
    int i = global_x();
    long x = a[i], y = b[i];
    int by = (int)y & 63;
    long result = (x << by) + (long)((ulong)x >> (63 - by)) - (y >> (by / 2));
    result ^= x * y;
    if (x < y)
        result += out[i] * (x - y);
    out[i] = result + (long)((ulong)y > (ulong)result) * 1000003;
}
