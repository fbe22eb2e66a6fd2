// Every atomic operation on global memory, on 32 and 64 bits.
// Instructions: flat_atomic_add, sub, and, or, xor, smin, umax, inc, dec, swap, add_x2, umin_x2, with and without the old value.
// Launch: 1-D; the results do not depend on the order.
#include "device.h"

kernel void atomics_all(global const int *in, global int *words, global ulong *wide, global int *old_sum)
{
    int i = global_x();
    int value = in[i];
    atomic_add(&words[0], value);
    __scoped_atomic_fetch_sub(&words[1], value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_and(&words[2], value | 0xff, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    atomic_or(&words[3], value & 0xffff);
    __scoped_atomic_fetch_xor(&words[4], value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    atomic_min(&words[5], value);
    atomic_max((global uint *)&words[6], (uint)value);
    int old = atomic_add(&words[7], 1);
    atomic_add(&old_sum[0], old);
    atomic_exch(&words[8], 77);
    atomic_add(&wide[0], (ulong)value * 3);
    __scoped_atomic_fetch_min(&wide[1], (ulong)(uint)value << 8, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    atomic_max(&wide[2], (ulong)(uint)value << 9);
}

// The same in LDS, then added up.
kernel void atomics_lds(global const int *in, global int *out)
{
    local int words[8];
    local ulong wide[2];
    int t = local_x();
    if (t < 8)
        words[t] = t == 2 ? -1 : 0;
    if (t < 2)
        wide[t] = 0;
    barrier_local();
    int value = in[global_x()];
    atomic_add(&words[0], value);
    __scoped_atomic_fetch_sub(&words[1], value, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    __scoped_atomic_fetch_and(&words[2], value | 0xf0f, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    atomic_or(&words[3], value);
    __scoped_atomic_fetch_xor(&words[4], value, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    atomic_max(&words[5], value);
    int old = atomic_add(&words[6], 2);
    atomic_add(&words[7], old);
    atomic_add(&wide[0], (ulong)(uint)value);
    atomic_max(&wide[1], (ulong)(uint)value << 4);
    barrier_local();
    if (t < 8)
        out[12 * group_x() + t] = words[t];
    if (t < 2) {
        out[12 * group_x() + 8 + 2 * t] = (int)wide[t];
        out[12 * group_x() + 9 + 2 * t] = (int)(wide[t] >> 32);
    }
}
