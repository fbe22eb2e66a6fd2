// Bit fields, shifts of pairs, counts, byte permutation, sums of differences, multiplications of 24 bits.
// Instructions: v_bfe, v_bfi, v_alignbit, v_bfrev, v_ffbh, v_ffbl, v_bcnt, v_perm, v_sad, v_lerp, v_mul_hi, v_mad_u32_u24, v_med3.
// Launch: 1-D, one work-item an element.
#include "device.h"

kernel void bit_tricks(global const uint *a, global const uint *b, global const uint *c, global uint *out)
{
    int i = global_x();
    uint x = a[i], y = b[i], z = c[i];
    uint sum = __builtin_amdgcn_ubfe(x, y & 31, 5) + (uint)__builtin_amdgcn_sbfe((int)y, z & 31, 7);
    sum ^= (x & y) | (~x & z);
    sum += __builtin_amdgcn_alignbit(x, y, z) ^ __builtin_amdgcn_alignbyte(y, z, x);
    sum += __builtin_bitreverse32(x) + (x ? __builtin_clz(x) : 32) + (y ? __builtin_ctz(y) : 32) + __builtin_popcount(z);
    sum ^= __builtin_amdgcn_perm(x, y, z & 0x07070707);
    sum += __builtin_amdgcn_sad_u8(x, y, z) + __builtin_amdgcn_sad_u16(y, z, x) + __builtin_amdgcn_msad_u8(x, y, z);
    sum ^= __builtin_amdgcn_lerp(x, y, z);
    sum += (uint)(((ulong)x * y) >> 32) + (uint)(((long)(int)y * (int)z) >> 32);
    sum += (x & 0xffffff) * (y & 0xffffff) + z;
    int low = min((int)x, (int)y), high = max((int)x, (int)y);
    sum ^= (uint)max(low, min(high, (int)z));
    out[i] = sum;
}
