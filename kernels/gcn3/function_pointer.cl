// Calls one of three functions through a pointer that depends on the data, or on a parameter.
// Control flow: indirect call of the address in an SGPR; a loop over the different addresses of the lanes (waterfall).
// Launch: 1-D, one work-item per element.
#include "device.h"
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

typedef int (*operation)(int, int);

NOINLINE static int add_scaled(int x, int y) { return x + 3 * y; }
NOINLINE static int divide(int x, int y) { return x / y; }
NOINLINE static int count_down(int x, int y)
{
    int steps = 0;
#pragma unroll 1
    for (; x > 0; x -= y)
        steps++;
    return steps;
}

kernel void function_pointer(global const int *in, global int *out, int n)
{
    int i = global_x();
    operation table[3] = {add_scaled, divide, count_down};
    out[i] = table[(uint)in[i] % 3](in[i + n], n);
}

// The pointer is the same for the whole launch, but not known statically.
kernel void function_pointer_uniform(global const int *in, global int *out, int n, int which)
{
    int i = global_x();
    operation f = which == 0 ? divide : count_down;
    out[i] = f(in[i], n) + 1;
}
