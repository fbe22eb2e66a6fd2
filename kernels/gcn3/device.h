// Declarations shared by the kernels: the compiler's package has no header of OpenCL.
// Sizes of groups and grids come from the dispatch packet (code object version 4) or the hidden arguments (version 5).
#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef short short2 __attribute__((ext_vector_type(2)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));

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
#define groups_y() ((int)__builtin_amdgcn_grid_size_y() / group_size_y())
#define global_x() (group_x() * group_size_x() + local_x())
#define global_y() (group_y() * group_size_y() + local_y())
#define global_z() (group_z() * group_size_z() + local_z())

// Number of the own lane: bits of a full mask below it.
#define lane_id() ((int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)))

// Lanes in which the condition holds, of all lanes or of the own half of the wave.
#define ballot(condition) __builtin_amdgcn_ballot_w64(condition)
#define half_ballot(condition) ((uint)(ballot(condition) >> (lane_id() & 32)))

// Value of another lane; 0 of a lane that does not take part.
static inline int from_lane(int lane, int value) { return __builtin_amdgcn_ds_bpermute(4 * lane, value); }

static inline int __attribute__((overloadable)) min(int a, int b) { return a < b ? a : b; }
static inline int __attribute__((overloadable)) max(int a, int b) { return a > b ? a : b; }
static inline ulong __attribute__((overloadable)) max(ulong a, ulong b) { return a > b ? a : b; }

static inline uint as_uint(float value) { return __builtin_bit_cast(uint, value); }
static inline float as_float(uint bits) { return __builtin_bit_cast(float, bits); }

// Barrier of the group; accesses to LDS before it are finished.
static inline void barrier_local(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Atomic operations, relaxed, on the device; they return the old value.
#define atomic_add(to, value) __scoped_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_or(to, value) __scoped_atomic_fetch_or(to, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_max(to, value) __scoped_atomic_fetch_max(to, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_min(to, value) __scoped_atomic_fetch_min(to, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_exch(to, value) __scoped_atomic_exchange_n(to, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)

// Compare and swap: the old value.
#define atomic_cas(to, expected, value) \
    ({ \
        __typeof__(expected) seen_ = expected; \
        __scoped_atomic_compare_exchange_n(to, &seen_, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); \
        seen_; \
    })
