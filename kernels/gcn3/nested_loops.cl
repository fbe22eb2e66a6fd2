// Loops in loops: rectangular, triangular, three levels with counts that depend on the work-item.
// Control flow: nested uniform loops (SCC), and nested loops with masks.
// Launch: 1-D, one work-item a row.
// Options: -gline-tables-only
#include "device.h"

kernel void nested_fixed(global const int *in, global int *out)
{
    int i = global_x();
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a < 7; a++)
#pragma unroll 1
        for (int b = 0; b < 5; b++)
            sum += in[i + a * b] ^ sum;
    out[i] = sum;
}

kernel void nested_triangular(global const int *in, global int *out, int n)
{
    int i = global_x();
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a < n; a++) {
#pragma unroll 1
        for (int b = a; b < n; b++)
            sum += in[b * n + a] * i;
        out[i + a] = sum;
    }
}

kernel void nested_divergent(global const int *in, global int *out, int n)
{
    int i = global_x();
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a <= i % 8; a++) {
#pragma unroll 1
        for (int b = 0; b < in[a]; b++) {
            int c = n;
#pragma unroll 1
            while (c > b) {
                sum += in[c] - b;
                c -= 1 + (sum & 3);
            }
        }
        out[i + a] = sum;
    }
}
