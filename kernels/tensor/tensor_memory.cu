// Tensor memory and its matrix unit. Chips: sm_100a, sm_110a.

typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM110_ALL)
__device__ __forceinline__ u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

// Allocate, multiply, read back, free.
extern "C" __global__ void __launch_bounds__(128) product(u64 a, u64 b, u32 kind, float *out)
{
    __shared__ u32 columns;
    __shared__ u64 barrier;
    u32 b_address = shared_address(&barrier), memory, elected;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(shared_address(&columns)) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b_address));
    asm volatile("tcgen05.fence::before_thread_sync;");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;");
    memory = columns;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(elected));
    if (threadIdx.x < 32 && elected) {
        for (int k = 0; k < 4; k++)
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(memory), "l"(a + 2 * k), "l"(b + 2 * k), "r"(kind), "r"(k) : "memory");
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(b_address) : "memory");
    }
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(b_address));
    asm volatile("tcgen05.fence::after_thread_sync;");
    u32 r[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(memory + (threadIdx.x / 32 << 21)));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    for (int i = 0; i < 8; i++)
        out[threadIdx.x * 8 + i] = __uint_as_float(r[i]);
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(memory));
}

#define MMA(NAME, TEXT)                                                                                                \
    extern "C" __global__ void NAME(u32 d, u32 ta, u64 a, u64 b, u32 kind, u32 scale_a, u32 scale_b, u32 mask)         \
    {                                                                                                                  \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %7, 0; " TEXT " }" ::"r"(d), "r"(ta), "l"(a), "l"(b), "r"(kind), "r"(scale_a), "r"(scale_b), "r"(mask) : "memory"); \
    }
MMA(kind_tf32, "tcgen05.mma.cta_group::1.kind::tf32 [%0], %2, %3, %4, p;")
MMA(kind_f8f6f4, "tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %2, %3, %4, p;")
MMA(kind_f16_pair, "tcgen05.mma.cta_group::2.kind::f16 [%0], %2, %3, %4, p;")
MMA(kind_f16_tensor, "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %3, %4, p;")
MMA(kind_f16_masked, "tcgen05.mma.cta_group::1.kind::f16 [%0], %2, %3, %4, {%7,%7,%7,%7}, p;")
MMA(kind_f16_collector, "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%0], %2, %3, %4, p;")
MMA(kind_f16_sparse, "tcgen05.mma.sp.cta_group::1.kind::f16 [%0], %2, %3, [%5], %4, p;")
MMA(kind_mxf8f6f4, "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %2, %3, %4, [%5], [%6], p;")
MMA(kind_mxf4, "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%0], %2, %3, %4, [%5], [%6], p;")
MMA(kind_mxf4nvf4, "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %2, %3, %4, [%5], [%6], p;")
MMA(kind_ws, "tcgen05.mma.ws.cta_group::1.kind::f16 [%0], %2, %3, %4, p;")
MMA(kind_ws_tensor, "tcgen05.mma.ws.cta_group::1.kind::tf32.collector::b1::use [%0], [%1], %3, %4, p;")
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
MMA(kind_i8, "tcgen05.mma.cta_group::1.kind::i8 [%0], %2, %3, %4, p;")
MMA(kind_ws_i8, "tcgen05.mma.ws.cta_group::1.kind::i8 [%0], %2, %3, %4, p;")
#endif
MMA(copies, "tcgen05.cp.cta_group::1.128x256b [%0], %2; tcgen05.cp.cta_group::1.4x256b [%0], %2; tcgen05.cp.cta_group::1.128x128b [%0], %2; "
            "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%0], %2; tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [%0], %3; "
            "tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %3; tcgen05.cp.cta_group::1.128x256b.b8x16.b6x16_p32 [%0], %3; "
            "tcgen05.shift.cta_group::1.down [%0];")
MMA(copies_of_pair, "tcgen05.cp.cta_group::2.128x128b.b8x16.b4x16_p64 [%0], %3; tcgen05.cp.cta_group::2.32x128b.warpx4 [%0], %2; "
                    "tcgen05.shift.cta_group::2.down [%0];")
MMA(commits, "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%5];")
MMA(commits_of_pair, "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%5]; "
             "{ .reg .b16 m; cvt.u16.u32 m, %7; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%5], m; }")

#define R2 "{%0,%1}"
#define R4 "{%0,%1,%2,%3}"
extern "C" __global__ void shapes(u32 memory, u32 *out)
{
    u32 r[4];
#define LOAD(TEXT, LIST)                                                                                               \
    asm volatile("tcgen05.ld.sync.aligned." TEXT " " LIST ", [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(memory)); \
    asm volatile("tcgen05.wait::ld.sync.aligned;");                                                                    \
    *out++ = r[0] + r[1] + r[2] + r[3];
    LOAD("16x64b.x4.b32", R4)
    LOAD("16x128b.x2.b32", R4)
    LOAD("16x256b.x1.b32", R4)
    LOAD("32x32b.x4.b32", R4)
    LOAD("32x32b.x4.pack::16b.b32", R4)
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%0,%1}, [%2], 2;" : "=r"(r[0]), "=r"(r[1]) : "r"(memory));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    *out++ = r[0] + r[1];
#define STORE(TEXT)                                                                                                    \
    asm volatile("tcgen05.st.sync.aligned." TEXT " [%4], " R4 ";" ::"r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(memory));
    STORE("16x64b.x4.b32")
    STORE("16x128b.x2.b32")
    STORE("16x256b.x1.b32")
    STORE("32x32b.x4.unpack::16b.b32")
    asm volatile("tcgen05.wait::st.sync.aligned;");
}

extern "C" __global__ void pair_allocation(u32 *out)
{
    __shared__ u32 columns;
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&columns)), "r"(*out) : "memory");
    __syncwarp();
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 128;" ::"r"(columns));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
}

// Blocks that ask for the work of blocks that have not started.
extern "C" __global__ void steal(float *out)
{
    __shared__ __align__(16) uint4 answer;
    __shared__ u64 barrier;
    u32 b = shared_address(&barrier), again = 1;
    while (again) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b));
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(b));
            asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(shared_address(&answer)), "r"(b) : "memory");
        }
        __syncthreads();
        u32 done = 0, x = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(b));
        u64 low = ((u64 *)&answer)[0], high = ((u64 *)&answer)[1];
        asm volatile("{ .reg .b128 v; .reg .pred p; mov.b128 v, {%2,%3}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, v; selp.b32 %0, 1, 0, p; "
                     "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, v; }"
                     : "=r"(again), "+r"(x)
                     : "l"(low), "l"(high));
        out[x * blockDim.x + threadIdx.x] = x;
        __syncthreads();
    }
}
#endif
