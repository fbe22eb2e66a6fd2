// Six nested levels of if/else on the bits of the lane: each of the 64 lanes takes a path of its own.
// Control flow: 63 two-sided branches whose arms all run; at the innermost level one lane is active.
// Launch: 1-D, any group; `in` has 64 elements.
// Options: -gline-tables-only
#include "device.h"

#define LEAF(path) x = x * (2 * path + 3) + in[(x ^ path) & 63];
#define LEVEL(bit, zero, one) \
    if (lane & bit) { \
        x += in[x & 15]; \
        one \
    } else { \
        zero \
        x ^= in[x & 31]; \
    }
#define LEVEL_1(path) LEVEL(1, LEAF((path)), LEAF(((path) | 1)))
#define LEVEL_2(path) LEVEL(2, LEVEL_1(path), LEVEL_1(path | 2))
#define LEVEL_4(path) LEVEL(4, LEVEL_2(path), LEVEL_2(path | 4))
#define LEVEL_8(path) LEVEL(8, LEVEL_4(path), LEVEL_4(path | 8))
#define LEVEL_16(path) LEVEL(16, LEVEL_8(path), LEVEL_8(path | 16))
#define LEVEL_32 LEVEL(32, LEVEL_16(0), LEVEL_16(32))

kernel void split_levels(global const int *in, global int *out)
{
    int lane = local_x() & 63;
    int x = in[lane];
    LEVEL_32
    out[global_x()] = x;
}
