// Declarations shared by the kernels: the compiler's package has no header of OpenCL.
// Sizes of groups and grids come from the dispatch packet (code object version 4) or the hidden arguments (version 5).
#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// Most work-items of a group; without it the compiler assumes 256.
#define UP_TO(items) __attribute__((amdgpu_flat_work_group_size(1, items)))
#define NOINLINE __attribute__((noinline))

#define local_x() ((int)__builtin_amdgcn_workitem_id_x())
#define local_y() ((int)__builtin_amdgcn_workitem_id_y())
#define local_z() ((int)__builtin_amdgcn_workitem_id_z())
#define group_x() ((int)__builtin_amdgcn_workgroup_id_x())
#define group_y() ((int)__builtin_amdgcn_workgroup_id_y())
#define group_z() ((int)__builtin_amdgcn_workgroup_id_z())
#define group_size_x() ((int)__builtin_amdgcn_workgroup_size_x())
#define group_size_y() ((int)__builtin_amdgcn_workgroup_size_y())
#define group_size_z() ((int)__builtin_amdgcn_workgroup_size_z())
#define grid_items_x() ((int)__builtin_amdgcn_grid_size_x())
#define groups_x() (grid_items_x() / group_size_x())
#define global_x() (group_x() * group_size_x() + local_x())
#define global_y() (group_y() * group_size_y() + local_y())
#define global_z() (group_z() * group_size_z() + local_z())

// Number of the own lane: bits of a full mask below it.
#define lane_id() ((int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)))

// Barrier of the group; accesses to LDS before it are finished.
static inline void barrier_local(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Atomic operations, relaxed; they return the old value.
#define add_global(to, value) __opencl_atomic_fetch_add((volatile global atomic_uint *)(to), value, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE)
#define add_local(to, value) __opencl_atomic_fetch_add((volatile local atomic_uint *)(to), value, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_WORK_GROUP)
