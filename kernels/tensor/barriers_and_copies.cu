// Barriers in shared memory and bulk copies: a producer warp and consumers with two stages, TMA tiles of one to five
// dimensions, reductions, prefetches. Chips: sm_80 (barriers), sm_90 and later (copies).

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

#if __CUDA_ARCH__ >= 800
// Each thread copies a few words asynchronously; a barrier in shared memory counts the copies.
extern "C" __global__ void barrier_of_copies(const u32 *in, u32 *out)
{
    __shared__ u64 barrier;
    __shared__ __align__(16) u32 data[512];
    u32 b = shared_address(&barrier);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(blockDim.x));
    __syncthreads();
    u64 state;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(data + threadIdx.x)), "l"(in + threadIdx.x));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(data + 128 + 2 * threadIdx.x)), "l"(in + 128 + 2 * threadIdx.x));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(b));
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(b));
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(b), "l"(state));
    u32 pending;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[threadIdx.x] = data[threadIdx.x * 3 % 384] + pending;
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(b));
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(b));
}
#endif

#if __CUDA_ARCH__ >= 900
struct alignas(64) TensorMap {
    u64 words[16];
};

__device__ __forceinline__ void wait(u32 barrier, u32 parity)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1, 0x989680;\n"
                 "@p bra done;\n"
                 "bra again;\n"
                 "done: }" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// One thread asks for tiles, the others add them up.
extern "C" __global__ void __launch_bounds__(160) tile_sums(const __grid_constant__ TensorMap map, float *out, int tiles)
{
    __shared__ __align__(128) float tile[2][32 * 32];
    __shared__ u64 full[2], empty[2];
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full + i)));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(shared_address(empty + i)));
        }
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128) {
            asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
            for (int i = 0; i < tiles; i++) {
                int stage = i & 1;
                wait(shared_address(empty + stage), (i / 2 & 1) ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(full + stage)), "r"(4096));
                asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                                 shared_address(tile[stage])),
                             "l"(&map), "r"(shared_address(full + stage)), "r"(i * 32), "r"(blockIdx.x * 32)
                             : "memory");
            }
        }
    } else {
        float sum = 0;
        for (int i = 0; i < tiles; i++) {
            int stage = i & 1;
            wait(shared_address(full + stage), i / 2 & 1);
            for (int j = threadIdx.x; j < 32 * 32; j += 128)
                sum += tile[stage][j];
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(empty + stage)));
        }
        out[blockIdx.x * 128 + threadIdx.x] = sum;
    }
}

// Every kind of tile, in and out.
extern "C" __global__ void tile_kinds(const __grid_constant__ TensorMap map, int x, int y, int z)
{
    extern __shared__ __align__(1024) unsigned char data[];
    u32 to = shared_address(data), barrier = shared_address(data + 65536);
    unsigned short offset = (unsigned short)x;
    if (threadIdx.x != 0)
        return;
#define LOAD(D, COORDINATES)                                                                                           \
    asm volatile("cp.async.bulk.tensor." D ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " COORDINATES "], [%2];" ::"r"(to), \
                 "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)                                                       \
                 : "memory");
    LOAD("1d", "{%3}")
    LOAD("3d", "{%3, %4, %5}")
    LOAD("4d", "{%3, %4, %5, %3}")
    LOAD("5d", "{%3, %4, %5, %3, %4}")
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %3}], [%2], {%6, %6};" ::"r"(to),
                 "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(offset)
                 : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
                 "l"(&map), "r"(barrier), "r"(x), "r"(y), "l"(0x14f0000000000000ull)
                 : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(&map), "r"(x), "r"(y), "r"(z));
    asm volatile("fence.proxy.async;");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(to), "r"(x), "r"(y) : "memory");
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map), "r"(to), "r"(x), "r"(y), "r"(z) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
#define REDUCE(OP)                                                                                                     \
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta." OP ".tile.bulk_group [%0, {%2}], [%1];" ::"l"(&map), "r"(to), "r"(x) : "memory");
    REDUCE("add")
    REDUCE("min")
    REDUCE("max")
    REDUCE("inc")
    REDUCE("dec")
    REDUCE("and")
    REDUCE("or")
    REDUCE("xor")
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Copies without a map.
extern "C" __global__ void bulk_copies(const float *in, float *out, int bytes)
{
    extern __shared__ __align__(128) unsigned char data[];
    __shared__ u64 barrier;
    u32 to = shared_address(data), b = shared_address(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in), "r"(bytes));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(in), "r"(bytes), "r"(b) : "memory");
    }
    __syncthreads();
    wait(b, 0);
    ((float *)data)[threadIdx.x] *= 2;
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(to), "r"(bytes) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out + 4096), "r"(to), "r"(bytes) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], %2;" ::"l"(out + 8192), "r"(to), "r"(bytes) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;" ::"l"(out + 8192), "r"(to), "r"(bytes) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f16 [%0], [%1], %2;" ::"l"(out + 8192), "r"(to), "r"(bytes) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [%0], [%1], %2;" ::"l"(out + 8192), "r"(to), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
#endif
