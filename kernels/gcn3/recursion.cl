// Self-recursion and mutual recursion.
// Control flow: a cycle in the call graph, frames in scratch.
// Launch: 1-D, one work-item per element; depth is the recursion limit.
#include "device.h"

NOINLINE static int fibonacci(int k)
{
    return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2);
}

NOINLINE static int is_odd(int k, int salt);

NOINLINE static int is_even(int k, int salt)
{
    return k == 0 ? salt : is_odd(k - 1, salt * 3) + 1;
}

NOINLINE static int is_odd(int k, int salt)
{
    return k == 0 ? -salt : is_even(k - 1, salt * 5) * 2;
}

kernel void recursion(global const int *in, global int *out, int depth)
{
    int i = global_x();
    out[i] = fibonacci(in[i] % depth);
}

kernel void mutual_recursion(global const int *in, global int *out, int depth)
{
    int i = global_x();
    out[i] = is_even(in[i] % depth, i);
}
