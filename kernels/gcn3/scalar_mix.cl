// Arithmetic that is the same for all lanes: bit fields, counts, carries, minima, divisions, on parameters and the group.
// Instructions: s_bfe, s_bfm, s_brev, s_ff1, s_flbit, s_bcnt, s_cselect, s_min, s_max, s_mul_i32, s_ashr, s_lshl of 32 and 64 bits.
// Control flow: branches on SCC only, a uniform loop.
// Launch: 1-D; the first work-item of each group writes.
#include "device.h"

kernel void scalar_mix(global long *out, uint a, uint b, ulong wide)
{
    uint group = group_x();
    uint x = a + group * 0x9e3779b9u, y = b ^ group;
    uint sum = (x >> (y & 31) & 0x7ff) + __builtin_bitreverse32(x) + __builtin_popcount(y) + (x ? __builtin_ctz(x) : 32);
    sum += (y ? __builtin_clz(y) : 32) + (x < y ? x : y) - ((int)x > (int)y ? x : y);
    ulong z = (wide + x) * 3 - y;
    z ^= z << (x & 63);
    z += (long)z >> (y & 63);
    z += __builtin_popcountl(z) + (z ? __builtin_ctzl(z) : 64) + (z ? __builtin_clzl(z) : 64);
    if (x & 4)
        z ^= sum / (y | 1);
    else
        z -= (ulong)(sum % (x | 1)) << 20;
#pragma unroll 1
    for (uint round = 0; round < (group & 7); round++) {
        z = z * 6364136223846793005ul + 1;
        if (z >> 63)
            z ^= wide;
    }
    if (local_x() == 0)
        out[group] = z + sum;
}
