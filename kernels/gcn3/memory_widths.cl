// Loads and stores of all widths in global memory and LDS.
// Instructions: flat and ds accesses of bytes, halves, one, two and four words; ds_read2 and ds_write2 with and without st64.
// Control flow: one barrier of up to four waves.
// Launch: 1-D, groups of up to 256.
#include "device.h"

typedef int int4 __attribute__((ext_vector_type(4)));

kernel void flat_widths(global const uchar *bytes, global const short *halves, global const int4 *quads, global uchar *out_bytes,
                        global short *out_halves, global int4 *out_quads, global long *out_pairs)
{
    int i = global_x();
    int byte = (signed char)bytes[i], half_word = halves[i];
    int4 quad = quads[i];
    out_bytes[i] = byte + half_word;
    out_halves[i] = half_word * byte;
    out_pairs[i] = (long)quad.x * byte + quad.w;
    int4 turned;
    turned.x = quad.w;
    turned.y = quad.z + byte;
    turned.z = quad.y;
    turned.w = quad.x ^ half_word;
    out_quads[i] = turned;
}

kernel void lds_widths(global const int *in, global int *out)
{
    local uchar bytes[256];
    local short halves[256];
    local long pairs[256];
    local int4 quads[256];
    local int words[512];
    int t = local_x(), i = global_x(), size = group_size_x();
    int value = in[i];
    bytes[t] = value;
    halves[t] = value >> 3;
    pairs[t] = (long)value << 20;
    quads[t] = value;
    words[t] = value;
    words[t + 256] = ~value;
    barrier_local();
    int other = size - 1 - t;
    int sum = bytes[other] + halves[other] + (int)(pairs[other] >> 24);
    sum += quads[other].y ^ quads[t].w;
    sum += words[other] * 3 + words[other + 256];
    out[i] = sum;
}
