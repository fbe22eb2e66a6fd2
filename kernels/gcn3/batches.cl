// The same chain of arithmetic with different needs of a group: nothing special, 16 KiB of LDS, many vector registers, many
// scalar registers. How many groups a compute unit holds differs.
// Control flow: a uniform loop.
// Launch: 1-D; `in` and `out` have an element for each work-item.
#include "device.h"

#define ROUNDS \
    _Pragma("unroll 1") for (int round = 0; round < rounds; round++) x = (x << 3 ^ x) + round;

kernel void batch_plain(global const int *in, global int *out, int rounds)
{
    int i = global_x(), x = in[i];
    ROUNDS
    out[i] = x;
}

kernel void batch_lds(global const int *in, global int *out, int rounds)
{
    local int parts[4096];
    int i = global_x(), x = in[i];
    parts[16 * local_x()] = x;
    barrier_local();
    ROUNDS
    out[i] = x + parts[16 * (group_size_x() - 1 - local_x())];
}

kernel void batch_vgprs(global const int *in, global int *out, int rounds)
{
    int i = global_x(), x = in[i];
    // 84 vector registers.
    __asm volatile("v_mov_b32 v83, 0" : : : "v83");
    ROUNDS
    out[i] = x;
}

kernel void batch_sgprs(global const int *in, global int *out, int rounds)
{
    int i = global_x(), x = in[i];
    // 90 scalar registers.
    __asm volatile("s_mov_b32 s89, 0" : : : "s89");
    ROUNDS
    out[i] = x;
}
