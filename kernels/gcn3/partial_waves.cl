// Waves and groups that are not full: the number of lanes of the own wave, the own lane, and the lanes in odd positions.
// Control flow: one guarded store; the masks are those of the start of the wave.
// Launch: 1-D, any group.
#include "device.h"

kernel void partial_waves(global int *lanes, global int *ranks, global long *odd)
{
    int i = global_x();
    int lane = lane_id();
    ulong present = ballot(1);
    lanes[i] = __builtin_popcountl(present);
    ranks[i] = __builtin_popcountl(present & ((1ul << lane) - 1));
    if (lane & 1)
        odd[i] = ballot(1);
}
