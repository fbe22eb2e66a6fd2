// Histogram of bytes: counters of the group in LDS, then added to the global ones.
// Control flow: strided loops; atomics in LDS and in global memory, barriers.
// Launch: 1-D, any group.
// Options: -mcode-object-version=5 -gline-tables-only
#include "device.h"

UP_TO(512) kernel void histogram(global const uint *words, global uint *bins, int word_count)
{
    local uint counts[256];
#pragma unroll 1
    for (int bin = local_x(); bin < 256; bin += group_size_x())
        counts[bin] = 0;
    barrier_local();
#pragma unroll 1
    for (int i = global_x(); i < word_count; i += grid_items_x()) {
        uint word = words[i];
        atomic_add(&counts[word & 255], 1);
        atomic_add(&counts[word >> 8 & 255], 1);
        atomic_add(&counts[word >> 16 & 255], 1);
        atomic_add(&counts[word >> 24], 1);
    }
    barrier_local();
#pragma unroll 1
    for (int bin = local_x(); bin < 256; bin += group_size_x())
        if (counts[bin] != 0)
            atomic_add(&bins[bin], counts[bin]);
}
