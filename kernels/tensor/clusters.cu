// Clusters of blocks: barriers, shared memory of another block, multicast, election, dependent launches. Chips: sm_90 and
// later.

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

#if __CUDA_ARCH__ >= 900
// Histogram over the blocks of a cluster: each block owns a part of the bins.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_histogram(const int *in, int *bins, int n)
{
    __shared__ int own[64];
    u32 rank, blocks;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    if (threadIdx.x < 64)
        own[threadIdx.x] = 0;
    asm volatile("barrier.cluster.arrive.release.aligned;");
    asm volatile("barrier.cluster.wait.acquire.aligned;");
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        u32 bin = (u32)in[i] % (64 * blocks), there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(own + bin % 64)), "r"(bin / 64));
        asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], 1;" ::"r"(there) : "memory");
    }
    asm volatile("barrier.cluster.arrive.relaxed;");
    asm volatile("barrier.cluster.wait;");
    if (threadIdx.x < 64)
        atomicAdd(bins + rank * 64 + threadIdx.x, own[threadIdx.x]);
}

// Loads, stores and asynchronous stores to another block.
extern "C" __global__ void cluster_exchange(float *out, int other)
{
    __shared__ __align__(16) float data[256];
    __shared__ u64 barrier;
    u32 there, their_barrier, b = shared_address(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(blockDim.x));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    asm volatile("barrier.cluster.arrive.aligned;");
    asm volatile("barrier.cluster.wait.aligned;");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(data + threadIdx.x)), "r"(other));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(their_barrier) : "r"(b), "r"(other));
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 _, [%0], 20;" ::"r"(b));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(there), "r"(threadIdx.x), "r"(their_barrier) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%1,%1,%1}, [%2];" ::"r"(there), "r"(threadIdx.x), "r"(their_barrier) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(there), "r"(3), "r"(their_barrier) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.or.b32 [%0], %1, [%2];" ::"r"(there), "r"(3), "r"(their_barrier) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(their_barrier));
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(b));
    float a;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(a) : "r"(there));
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(a * 2) : "memory");
    u64 generic;
    u32 owner;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(data), "r"(other));
    asm volatile("getctarank.u64 %0, %1;" : "=r"(owner) : "l"(generic));
    int old;
    asm volatile("atom.cluster.shared::cluster.cas.b32 %0, [%1], 1, 2;" : "=r"(old) : "r"(there) : "memory");
    asm volatile("fence.acq_rel.cluster;");
    asm volatile("barrier.cluster.arrive;");
    asm volatile("barrier.cluster.wait;");
    u32 x, y, z, size, id;
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y));
    asm volatile("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(z));
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(size));
    asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(id));
    out[threadIdx.x] = a + owner + old + x + y + z + size + id;
}

// A tile to several blocks; only where the instruction exists.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM110_ALL)
struct alignas(64) TensorMap {
    u64 words[16];
};
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast(const __grid_constant__ TensorMap map, const float *in, float *out)
{
    __shared__ __align__(128) float tile[1024];
    __shared__ u64 barrier;
    u32 b = shared_address(&barrier), elected;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(elected));
    if (threadIdx.x < 32 && elected) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(b));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(
                         shared_address(tile)),
                     "l"(&map), "r"(b), "r"(0), "r"(32), "h"((unsigned short)3)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 4096, [%2], %3;" ::"r"(shared_address(tile)),
                     "l"(in), "r"(b), "h"((unsigned short)3)
                     : "memory");
    }
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}
#endif

// A launch that may start before its predecessor has finished.
extern "C" __global__ void dependent(const float *in, float *out)
{
    asm volatile("griddepcontrol.launch_dependents;");
    float x = threadIdx.x;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    out[threadIdx.x] = in[threadIdx.x] + x;
}

// Vectors of reductions, fences of proxies, wide accesses with hints.
extern "C" __global__ void wide_accesses(float *out, const float *in)
{
    float a, b, c, d;
    asm volatile("ld.global.L1::no_allocate.L2::256B.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(in + 4 * threadIdx.x));
    asm volatile("red.global.add.v2.f32 [%0], {%1,%2};" ::"l"(out + 2 * threadIdx.x), "f"(a), "f"(b) : "memory");
    asm volatile("red.global.add.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(out + 4 * threadIdx.x), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
    asm volatile("red.global.v2.f16x2.add.noftz [%0], {%1,%2};" ::"l"(out + 2 * threadIdx.x), "r"(1), "r"(2) : "memory");
    asm volatile("red.global.v4.bf16x2.max.noftz [%0], {%1,%2,%1,%2};" ::"l"(out + 4 * threadIdx.x), "r"(1), "r"(2) : "memory");
    asm volatile("atom.global.v2.f32.add {%0,%1}, [%2], {%0,%1};" : "+f"(a), "+f"(b) : "l"(out + 2 * threadIdx.x) : "memory");
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(c) : "l"(in + 7 * threadIdx.x), "l"(policy));
    asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(out + 7 * threadIdx.x), "f"(c), "l"(policy) : "memory");
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(out));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(out + 4096));
    asm volatile("fence.proxy.alias;");
    asm volatile("fence.proxy.tensormap::generic.release.gpu;");
    u64 x, y;
    asm volatile("{ .reg .b128 v, w; mov.b128 v, {%2,%3}; atom.global.exch.b128 w, [%4], v; mov.b128 {%0,%1}, w; }"
                 : "=l"(x), "=l"(y)
                 : "l"(policy), "l"(policy + 1), "l"(out)
                 : "memory");
    out[threadIdx.x] = a + b + c + d + x + y;
}
#endif
