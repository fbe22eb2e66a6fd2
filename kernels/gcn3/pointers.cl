// Addresses in memory and in structures:
//   list_sums: out[i] = the sum of the list whose first node is heads[i]; each node has the address of the next
//   row_sums: out[i] = the sum of the i-th row of a table that is passed by value, with an array of addresses of rows
// Control flow: list_sums has a loop that data ends, lane by lane; row_sums a loop of `lengths[i]` rounds.
// Launch: 1-D; work-items from the counts on leave.
#include "device.h"

// Addresses are integers, because OpenCL has no arguments that contain pointers.
typedef struct {
    ulong next;
    long value;
} Node;

typedef struct {
    int count;
    ulong rows;
    ulong lengths;
} Table;

kernel void list_sums(global const ulong *heads, global long *out, int n)
{
    int i = global_x();
    if (i >= n)
        return;
    long sum = 0;
#pragma unroll 1
    for (ulong node = heads[i]; node; node = ((global const Node *)node)->next)
        sum += ((global const Node *)node)->value;
    out[i] = sum;
}

kernel void row_sums(Table table, global int *out)
{
    int i = global_x();
    if (i >= table.count)
        return;
    global const ulong *rows = (global const ulong *)table.rows;
    global const int *lengths = (global const int *)table.lengths;
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < lengths[i]; k++)
        sum += ((global const int *)rows[i])[k];
    out[i] = sum;
}
