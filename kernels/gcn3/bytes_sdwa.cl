// Arithmetic on the bytes and halves of words.
// Instructions: operands that are bytes and halves of registers (SDWA), 16-bit arithmetic, v_perm, saturation of bytes.
// Launch: 1-D, one work-item a word.
#include "device.h"

kernel void bytes_sdwa(global const uint *a, global const uint *b, global uint *out)
{
    int i = global_x();
    uint x = a[i], y = b[i];
    uint result = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uchar p = x >> (8 * k), q = y >> (8 * k);
        ushort sum = (ushort)p + (ushort)q;
        uchar mean = (sum + 1) >> 1;
        uchar other = (uchar)(p * q) ^ (uchar)(p - q);
        result |= (uint)(uchar)(mean + other) << (8 * k);
    }
    ushort low = (ushort)x * (ushort)(y >> 16) + (ushort)(x >> 16);
    short high = (short)((short)(x >> 16) >> 3) - (short)y;
    out[i] = result ^ ((uint)(ushort)high << 16 | low);
}
