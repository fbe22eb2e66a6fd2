// Counts keys of 0 to 7 with one atomic addition a wave and key instead of one a lane.
// Control flow: a loop until no lane is left (waterfall), each round for the key of the first active lane; a branch of one lane.
// Launch: 1-D, any group.
#include "device.h"

kernel void aggregated_atomics(global const int *keys, global uint *counts, int count)
{
    int i = global_x();
    if (i >= count)
        return;
    int key = keys[i] & 7;
    int todo = 1;
#pragma unroll 1
    while (ballot(todo)) {
        if (todo) {
            int first = __builtin_amdgcn_readfirstlane(key);
            ulong same = ballot(key == first);
            if (key == first) {
                int rank = __builtin_amdgcn_mbcnt_hi((uint)(same >> 32), __builtin_amdgcn_mbcnt_lo((uint)same, 0u));
                if (rank == 0)
                    atomic_add(&counts[key], (uint)__builtin_popcountl(same));
                todo = 0;
            }
        }
    }
}
