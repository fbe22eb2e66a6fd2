// Kernels for the tests of code objects: explicit and hidden arguments, LDS, scratch, calls, constants.
#if __clang_major__ > 14
typedef unsigned int uint;
#endif

#define GLOBAL_INDEX (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())

__constant int table[4] = {3, 1, 4, 1};

__attribute__((noinline)) int multiply_add(int a, int b) { return a * b + table[a & 3]; }

__kernel void add(__global int* a, __global const int* b, int n) {
    uint i = GLOBAL_INDEX;
    if (i < n) a[i] += b[i];
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void call(__global int* a, char c,
                                                                   __local int* l, short n) {
    a[GLOBAL_INDEX] = multiply_add(a[GLOBAL_INDEX], c) + l[n & 15];
}

__kernel void scratch(__global int* a, int n) {
    volatile int x[40];
    uint i = __builtin_amdgcn_workgroup_id_y() + __builtin_amdgcn_workitem_id_z();
    for (int k = 0; k < 40; k++) x[k] = a[k + i];
    a[i] = x[n & 31];
}

__kernel void hidden(__global int* a, int n) {
    __constant int* implicit = (__constant int*)__builtin_amdgcn_implicitarg_ptr();
    __constant int* packet = (__constant int*)__builtin_amdgcn_dispatch_ptr();
    a[n] = implicit[0] + packet[1];
}
