// Products of a warp group with operands in shared memory. Chips: sm_90a.

typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ __forceinline__ u64 descriptor(const void *p)
{
    u64 address = __cvta_generic_to_shared(p);
    return (address & 0x3ffff) >> 4 | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 62;
}

#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#define WAIT(N) asm volatile("wgmma.wait_group.sync.aligned " #N ";" ::: "memory");

// Two warp groups: one copies with fewer registers, the other multiplies with more.
extern "C" __global__ void __launch_bounds__(256, 1) specialised(const uint4 *a, const uint4 *b, float *c, int steps)
{
    __shared__ __align__(1024) uint4 tile_a[2][512], tile_b[2][512];
    __shared__ volatile int ready[2];
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int i = 0; i < steps; i++) {
            for (int j = threadIdx.x; j < 512; j += 128) {
                tile_a[i & 1][j] = a[(u64)i * 512 + j];
                tile_b[i & 1][j] = b[(u64)i * 512 + j];
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            asm volatile("bar.sync 1, 256;" ::: "memory");
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[16] = {};
        for (int i = 0; i < steps; i++) {
            asm volatile("bar.sync 1, 256;" ::: "memory");
            FENCE
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, 1, 1, 1, 0, 0;"
                             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
                               "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                             : "l"(descriptor(tile_a[i & 1]) + 2 * k), "l"(descriptor(tile_b[i & 1]) + 2 * k));
            COMMIT
            WAIT(0)
        }
        for (int i = 0; i < 16; i++)
            c[threadIdx.x * 16 + i] = d[i];
    }
}

#define D4 "{%0,%1,%2,%3}"
#define GROUP(NAME, TYPE, CONSTRAINT, TEXT, A, ...)                                                                    \
    extern "C" __global__ void NAME(TYPE *out, int scale, u64 a, u64 b, u32 r0, u32 r1, u32 r2, u32 r3)                \
    {                                                                                                                  \
        TYPE d[4] = {out[threadIdx.x], out[threadIdx.x + 128], out[threadIdx.x + 256], out[threadIdx.x + 384]};        \
        FENCE                                                                                                          \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; wgmma.mma_async.sync.aligned." TEXT " " D4 ", " A ", %6, p" __VA_ARGS__ "; }" \
                     : "+" CONSTRAINT(d[0]), "+" CONSTRAINT(d[1]), "+" CONSTRAINT(d[2]), "+" CONSTRAINT(d[3])          \
                     : "r"(scale), "l"(a), "l"(b), "r"(r0), "r"(r1), "r"(r2), "r"(r3));                                \
        COMMIT                                                                                                         \
        WAIT(0)                                                                                                        \
        for (int i = 0; i < 4; i++)                                                                                    \
            out[threadIdx.x + 128 * i] = d[i];                                                                         \
    }
#define SHARED "%5"
#define REGISTERS "{%7,%8,%9,%10}"
GROUP(group_f16, float, "f", "m64n8k16.f32.f16.f16", SHARED, ", -1, 1, 1, 0")
GROUP(group_f16_registers, float, "f", "m64n8k16.f32.f16.f16", REGISTERS, ", 1, -1, 1")
GROUP(group_bf16, float, "f", "m64n8k16.f32.bf16.bf16", SHARED, ", 1, 1, 0, 1")
GROUP(group_bf16_registers, float, "f", "m64n8k16.f32.bf16.bf16", REGISTERS, ", 1, 1, 0")
GROUP(group_tf32, float, "f", "m64n8k8.f32.tf32.tf32", SHARED, ", 1, 1")
GROUP(group_tf32_registers, float, "f", "m64n8k8.f32.tf32.tf32", REGISTERS, ", -1, 1")
GROUP(group_e4m3, float, "f", "m64n8k32.f32.e4m3.e5m2", SHARED, ", 1, 1")
GROUP(group_e5m2_registers, float, "f", "m64n8k32.f32.e5m2.e4m3", REGISTERS, ", 1, -1")
GROUP(group_s8, u32, "r", "m64n8k32.s32.s8.u8", SHARED, "")
GROUP(group_u8_sat, u32, "r", "m64n8k32.s32.u8.s8.satfinite", SHARED, "")
GROUP(group_u8_registers, u32, "r", "m64n8k32.s32.u8.u8", REGISTERS, "")
GROUP(group_b1, u32, "r", "m64n8k256.s32.b1.b1.and.popc", SHARED, "")
GROUP(group_b1_registers, u32, "r", "m64n8k256.s32.b1.b1.and.popc", REGISTERS, "")

extern "C" __global__ void group_f16_half(u32 *out, u64 a, u64 b)
{
    u32 d[2] = {out[threadIdx.x], out[threadIdx.x + 128]};
    FENCE
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0,%1}, %2, %3, 0, 1, 1, 0, 0;" : "+r"(d[0]), "+r"(d[1]) : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0,%1}, {%2,%2,%2,%2}, %3, 1, 1, 1, 0;" : "+r"(d[0]), "+r"(d[1]) : "r"(threadIdx.x), "l"(b));
    COMMIT
    WAIT(1)
    WAIT(0)
    out[threadIdx.x] = d[0];
    out[threadIdx.x + 128] = d[1];
}

extern "C" __global__ void group_sparse(float *out, u64 a, u64 b, u32 indices)
{
    float d[4] = {};
    FENCE
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " D4 ", %4, %5, %6, 0, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(indices));
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3 " D4 ", %4, %5, %6, 0, 1, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(indices));
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32 " D4 ", %4, %5, %6, 0, 1, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(indices));
    COMMIT
    WAIT(0)
    for (int i = 0; i < 4; i++)
        out[threadIdx.x + 128 * i] = d[i];
}
#endif
