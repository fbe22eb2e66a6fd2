// A two-sided branch between writes of bit 21 of MODE: the mark by which a compute unit that splits waves knows where it may
// (Klashtorny, "GPU Wavefront Splitting for Safety-Critical Systems", Figure 4.6).
// Control flow: one two-sided branch.
// Launch: 1-D; `in` and `out` have an element for each work-item.
#include "device.h"

// Chains of dependent instructions at the full rate, long enough for the compiler to keep the branch around them; two kinds, as
// it makes one of equal ones.
#define MIX(number) x = (x << 3 ^ x) + (number);
#define FOLD(number) x = (x - (number)) ^ x >> 5;
#define MIX_6(number) MIX(number) MIX(number + 1) MIX(number + 2) MIX(number + 3) MIX(number + 4) MIX(number + 5)
#define FOLD_6(number) FOLD(number) FOLD(number + 1) FOLD(number + 2) FOLD(number + 3) FOLD(number + 4) FOLD(number + 5)

kernel void marked_if_else(global const int *in, global int *out)
{
    int i = global_x(), x = in[i];
    __asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 21, 1), 1");
    if (local_x() < 3) {
        MIX_6(1)
    } else {
        FOLD_6(2)
    }
    __asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 21, 1), 0");
    out[i] = x;
}
