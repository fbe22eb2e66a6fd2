// The part of OpenCL's built-in functions that these sources use; the compiler comes without the header and library.
#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef uchar uchar4 __attribute__((ext_vector_type(4)));

#define BUILTIN static inline __attribute__((always_inline, overloadable))

BUILTIN size_t get_local_id(uint d)
{
    return d == 0 ? __builtin_amdgcn_workitem_id_x() : d == 1 ? __builtin_amdgcn_workitem_id_y() : __builtin_amdgcn_workitem_id_z();
}

BUILTIN size_t get_group_id(uint d)
{
    return d == 0 ? __builtin_amdgcn_workgroup_id_x() : d == 1 ? __builtin_amdgcn_workgroup_id_y() : __builtin_amdgcn_workgroup_id_z();
}

BUILTIN size_t get_local_size(uint d)
{
    return d == 0 ? __builtin_amdgcn_workgroup_size_x() : d == 1 ? __builtin_amdgcn_workgroup_size_y() : __builtin_amdgcn_workgroup_size_z();
}

BUILTIN size_t get_global_size(uint d)
{
    return d == 0 ? __builtin_amdgcn_grid_size_x() : d == 1 ? __builtin_amdgcn_grid_size_y() : __builtin_amdgcn_grid_size_z();
}

BUILTIN size_t get_num_groups(uint d)
{
    uint items = (uint)get_global_size(d), group = (uint)get_local_size(d);
    return (items + group - 1) / group;
}

BUILTIN size_t get_global_offset(uint d)
{
    return ((constant size_t *)__builtin_amdgcn_implicitarg_ptr())[d];
}

BUILTIN size_t get_global_id(uint d)
{
    return (uint)get_group_id(d) * (uint)get_local_size(d) + (uint)get_local_id(d) + get_global_offset(d);
}

#define CLK_LOCAL_MEM_FENCE 1

BUILTIN void barrier(int flags)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

BUILTIN int min(int a, int b) { return a < b ? a : b; }
BUILTIN int max(int a, int b) { return a > b ? a : b; }
BUILTIN uint min(uint a, uint b) { return a < b ? a : b; }
BUILTIN uint max(uint a, uint b) { return a > b ? a : b; }
BUILTIN int clamp(int v, int lo, int hi) { return min(max(v, lo), hi); }
BUILTIN uint abs(int v) { return v < 0 ? -v : v; }
BUILTIN uint abs_diff(int a, int b) { return a > b ? (uint)a - (uint)b : (uint)b - (uint)a; }
BUILTIN uint popcount(uint v) { return __builtin_popcount(v); }

BUILTIN float fmin(float a, float b) { return __builtin_fminf(a, b); }
BUILTIN float fmax(float a, float b) { return __builtin_fmaxf(a, b); }
BUILTIN float clamp(float v, float lo, float hi) { return fmin(fmax(v, lo), hi); }
BUILTIN float fabs(float v) { return __builtin_fabsf(v); }
BUILTIN float floor(float v) { return __builtin_floorf(v); }
BUILTIN float rint(float v) { return __builtin_rintf(v); }
BUILTIN float sqrt(float v) { return __builtin_sqrtf(v); }
BUILTIN float mad(float a, float b, float c) { return a * b + c; }
BUILTIN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
BUILTIN float native_log2(float v) { return __builtin_amdgcn_logf(v); }
BUILTIN float native_cos(float v) { return __builtin_amdgcn_cosf(v * 0.15915494f); }

#define atomic_add(p, v) __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_inc(p) __scoped_atomic_fetch_add(p, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
