// Looks up keys in a hash table with linear probing (a power of two of slots, key 0 marks
// free slots) and returns the values, or a default; also the number of probes for statistics.
// Options: -gline-tables-only
#include "opencl.h"

typedef struct {
    uint key;
    uint value;
} Slot;

kernel void hash_probe(global const Slot *table, uint logCapacity, global const uint *queries, uint numQueries,
                       uint missing, global uint *results, global uint *totalProbes)
{
    uint i = get_global_id(0);
    if (i >= numQueries)
        return;

    const uint mask = (1u << logCapacity) - 1;
    uint key = queries[i];
    uint at = (key * 2654435769u) >> (32 - logCapacity);
    uint result = missing;
    uint probes = 0;
    while (probes <= mask) {
        Slot s = table[at];
        probes++;
        if (s.key == key) {
            result = s.value;
            break;
        }
        if (s.key == 0)
            break;
        at = (at + 1) & mask;
    }
    results[i] = result;
    atomic_add(totalProbes, probes);
}
