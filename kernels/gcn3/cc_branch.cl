// Branches on two conditions that are both needed again, and 128-bit additions.
// Control flow: masks of two comparisons are joined by s_and and s_andn2; carry_chain has v_addc and a branch on the carry.
// Launch: 1-D, one work-item per element.
#include "device.h"

kernel void cc_branch(global const float *a, global const float *b, global float *out, int n)
{
    int i = global_x();
    float x = a[i], y = b[i];
    bool different = x != y;
    bool small = x < 2.0f * y;
    if (different && small) {
        out[i] = a[i + n];
        out[i + 1] = (int)(x) / n;
    } else if (different) {
        out[i + 2] = x * y;
        out[i] = b[i + 2] + a[n];
    }
    if (small)
        out[i + 5] = 9.0f;
}

kernel void carry_chain(global const uint *a, global const uint *b, global uint *out, int n)
{
    int i = 4 * (global_x());
    ulong low = a[i] + ((ulong)a[i + 1] << 32), high = a[i + 2] + ((ulong)a[i + 3] << 32);
    ulong low_sum = low + (b[i] + ((ulong)b[i + 1] << 32));
    ulong carry_in = low_sum < low;
    ulong high_sum = high + (b[i + 2] + ((ulong)b[i + 3] << 32));
    uint carry = high_sum < high;
    high_sum += carry_in;
    carry |= high_sum < carry_in;
    uint r0 = low_sum, r1 = low_sum >> 32, r2 = high_sum, r3 = high_sum >> 32;
    if (carry) {
        r0 /= n;
        out[n] = r0 % (n + 1);
    }
    out[i] = r0;
    out[i + 1] = r1;
    out[i + 2] = r2;
    out[i + 3] = r3;
}
