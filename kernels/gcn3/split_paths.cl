// Six nested levels of if/else on the bits of the lane, as in split_levels.cl, with arithmetic alone in the blocks.
// Control flow: 63 two-sided branches whose arms all run; at the innermost level one lane is active.
// Launch: 1-D, any group; `in` and `out` have an element for each work-item.
// Options: -gline-tables-only
#include "device.h"

// Chains of dependent instructions at the full rate, long enough for the compiler to keep the branch around them; two kinds, as
// it makes one of equal ones.
#define MIX(number) x = (x << 3 ^ x) + (number);
#define FOLD(number) x = (x - (number)) ^ x >> 5;
#define MIX_6(number) MIX(number) MIX(number + 1) MIX(number + 2) MIX(number + 3) MIX(number + 4) MIX(number + 5)
#define FOLD_6(number) FOLD(number) FOLD(number + 1) FOLD(number + 2) FOLD(number + 3) FOLD(number + 4) FOLD(number + 5)
#define LEVEL(bit, zero, one) \
    if (lane & bit) { \
        MIX(bit) \
        one \
    } else { \
        zero \
        FOLD(bit) \
    }
#define LEVEL_1(path) LEVEL(1, FOLD_6(8 * (path)), MIX_6(8 * (path | 1)))
#define LEVEL_2(path) LEVEL(2, LEVEL_1((path)), LEVEL_1((path | 2)))
#define LEVEL_4(path) LEVEL(4, LEVEL_2((path)), LEVEL_2((path | 4)))
#define LEVEL_8(path) LEVEL(8, LEVEL_4((path)), LEVEL_4((path | 8)))
#define LEVEL_16(path) LEVEL(16, LEVEL_8((path)), LEVEL_8((path | 16)))
#define LEVEL_32 LEVEL(32, LEVEL_16(0), LEVEL_16(32))

kernel void split_paths(global const int *in, global int *out)
{
    int lane = local_x() & 63;
    int x = in[global_x()];
    LEVEL_32
    out[global_x()] = x;
}
