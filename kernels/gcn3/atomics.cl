// Atomic operations on global memory and LDS, with and without use of the old value, and a spin lock.
// Control flow: aggregated or single atomics, a compare-and-swap loop whose lanes leave one by one, and a lock that one lane of
// a wave takes (no bound in the code).
// Launch: 1-D.
#include "device.h"

kernel void atomics(global const int *in, global int *out, global uint *bits, global float *sum, int n)
{
    local int low;
    local int count;
    int i = global_x();
    if (local_x() == 0) {
        low = n;
        count = 0;
    }
    barrier_local();
    int value = in[i];
    atomic_min(&low, value);
    int ticket = atomic_add(&count, 1);
    atomic_or(&bits[value & 7], 1u << (value & 31));
    atomic_add(sum, (float)value);
    int before = atomic_exch(&out[ticket], value);
    barrier_local();
    out[i + n] = before + low + atomic_cas(&out[n], value, ticket);
}

// Adds with a compare-and-swap loop: retries until no other thread interfered.
kernel void cas_loop(global const float *in, global uint *cell)
{
    int i = global_x();
    uint seen = *cell, expected;
    do {
        expected = seen;
        seen = atomic_cas(cell, expected, as_uint(as_float(expected) * in[i]));
    } while (seen != expected);
}

// One thread per block takes a global lock.
kernel void spin_lock(global int *lock, global volatile int *data, int n)
{
    if (local_x() == 0) {
        while (atomic_cas(lock, 0, 1) != 0)
            ;
        data[group_x()] = data[0] / n;
        __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
        atomic_exch(lock, 0);
    }
}
