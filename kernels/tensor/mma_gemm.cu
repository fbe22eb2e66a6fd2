// Matrix products on the tensor cores of a warp: tiles copied asynchronously in two stages, fragments read by
// ldmatrix, and products of the types that mma.sync has. Chips: sm_80 and later.

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void copy_16(void *to, const void *from, bool inside)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(inside ? 16 : 0));
}

// C = A B with A m x k (f16, row major), B k x n (f16, column major), C m x n (f32). 128 threads: 2 x 2 warps, each 32 x 32.
extern "C" __global__ void __launch_bounds__(128)
    gemm_f16(const unsigned short *a, const unsigned short *b, float *c, int m, int n, int k)
{
    __shared__ __align__(128) unsigned short tile_a[2][64 * 40];
    __shared__ __align__(128) unsigned short tile_b[2][64 * 40];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
    float sum[2][4][4] = {};
    auto load = [&](int stage, int from) {
        for (int i = threadIdx.x; i < 64 * 4; i += 128) {
            int row = i / 4, part = i % 4 * 8;
            copy_16(&tile_a[stage][row * 40 + part], a + (u64)(row0 + row) * k + from + part, row0 + row < m);
            copy_16(&tile_b[stage][row * 40 + part], b + (u64)(column0 + row) * k + from + part, column0 + row < n);
        }
        asm volatile("cp.async.commit_group;");
    };
    load(0, 0);
    for (int at = 0; at < k; at += 32) {
        int stage = at / 32 & 1;
        if (at + 32 < k)
            load(stage ^ 1, at + 32);
        else
            asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        for (int step = 0; step < 32; step += 16) {
            u32 fa[2][4], fb[2][4];
            for (int i = 0; i < 2; i++) {
                int row = warp / 2 * 32 + i * 16 + lane % 16, part = step + lane / 16 * 8;
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
                             : "r"(shared_address(&tile_a[stage][row * 40 + part])));
                row = warp % 2 * 32 + i * 16 + lane % 16;
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(fb[i][0]), "=r"(fb[i][1]), "=r"(fb[i][2]), "=r"(fb[i][3])
                             : "r"(shared_address(&tile_b[stage][row * 40 + part])));
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                                 "{%0,%1,%2,%3};"
                                 : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                                 : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j / 2][j % 2]),
                                   "r"(fb[j / 2][j % 2 + 2]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) {
            int row = row0 + warp / 2 * 32 + i * 16 + lane / 4, column = column0 + warp % 2 * 32 + j * 8 + lane % 4 * 2;
            if (row < m && column + 1 < n)
                *(float2 *)(c + (u64)row * n + column) = make_float2(sum[i][j][0], sum[i][j][1]);
            if (row + 8 < m && column + 1 < n)
                *(float2 *)(c + (u64)(row + 8) * n + column) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
}

#define MMA_F32(NAME, SHAPE, A, B, NA, NB)                                                                             \
    extern "C" __global__ void NAME(const u32 *in, float *out)                                                         \
    {                                                                                                                  \
        u32 a[4], b[2];                                                                                                \
        for (int i = 0; i < 4; i++)                                                                                    \
            a[i] = in[threadIdx.x * 6 + i];                                                                            \
        for (int i = 0; i < 2; i++)                                                                                    \
            b[i] = in[threadIdx.x * 6 + 4 + i];                                                                        \
        float d[4] = {out[threadIdx.x], out[threadIdx.x + 32], out[threadIdx.x + 64], out[threadIdx.x + 96]};          \
        asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." A "." B ".f32 {%0,%1,%2,%3}, " NA ", " NB               \
                     ", {%0,%1,%2,%3};"                                                                                \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                              \
        for (int i = 0; i < 4; i++)                                                                                    \
            out[threadIdx.x + 32 * i] = d[i];                                                                          \
    }
#define A4 "{%4,%5,%6,%7}"
#define A2 "{%4,%5}"
#define B2 "{%8,%9}"
#define B1 "{%8}"
MMA_F32(mma_bf16_k16, "m16n8k16", "bf16", "bf16", A4, B2)
MMA_F32(mma_bf16_k8, "m16n8k8", "bf16", "bf16", A2, B1)
MMA_F32(mma_f16_k8, "m16n8k8", "f16", "f16", A2, B1)
MMA_F32(mma_tf32_k8, "m16n8k8", "tf32", "tf32", A4, B2)
MMA_F32(mma_tf32_k4, "m16n8k4", "tf32", "tf32", A2, B1)
#if __CUDA_ARCH__ >= 890
MMA_F32(mma_e4m3_e5m2, "m16n8k32", "e4m3", "e5m2", A4, B2)
MMA_F32(mma_e5m2_e4m3, "m16n8k32", "e5m2", "e4m3", A4, B2)
#endif

// Half accumulators.
extern "C" __global__ void mma_f16_f16(const u32 *in, u32 *out)
{
    u32 d[2] = {out[threadIdx.x], out[threadIdx.x + 32]};
    u32 a[4] = {in[threadIdx.x], in[threadIdx.x + 32], in[threadIdx.x + 64], in[threadIdx.x + 96]};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[1]), "r"(a[2]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]));
    out[threadIdx.x] = d[0];
    out[threadIdx.x + 32] = d[1];
}

#define MMA_INT(NAME, TEXT)                                                                                            \
    extern "C" __global__ void NAME(const u32 *in, int *out)                                                           \
    {                                                                                                                  \
        u32 a[4] = {in[threadIdx.x], in[threadIdx.x + 32], in[threadIdx.x + 64], in[threadIdx.x + 96]};                \
        u32 b[2] = {in[threadIdx.x + 128], in[threadIdx.x + 160]};                                                     \
        int d[4] = {out[threadIdx.x], out[threadIdx.x + 32], out[threadIdx.x + 64], out[threadIdx.x + 96]};            \
        asm volatile(TEXT                                                                                              \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                              \
        for (int i = 0; i < 4; i++)                                                                                    \
            out[threadIdx.x + 32 * i] = d[i];                                                                          \
    }
#define D4 "{%0,%1,%2,%3}"
#define MI(SHAPE, A, B, NA, NB) "mma.sync.aligned." SHAPE ".row.col.satfinite.s32." A "." B ".s32 " D4 ", " NA ", " NB ", " D4 ";"
MMA_INT(mma_s8_u8, MI("m16n8k32", "s8", "u8", A4, B2))
MMA_INT(mma_u8_s8, MI("m16n8k16", "u8", "s8", A2, B1))
MMA_INT(mma_s4_u4, MI("m16n8k64", "s4", "u4", A4, B2))
MMA_INT(mma_u4_k32, MI("m16n8k32", "u4", "u4", A2, B1))
MMA_INT(mma_b1_and, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc " D4 ", " A4 ", " B2 ", " D4 ";")
#if __CUDA_ARCH__ < 900
MMA_INT(mma_b1_xor, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc " D4 ", " A2 ", " B1 ", " D4 ";")
#endif

// Double precision.
extern "C" __global__ void mma_f64(const double *in, double *out)
{
    double a = in[threadIdx.x], b = in[threadIdx.x + 32], d0 = out[threadIdx.x], d1 = out[threadIdx.x + 32];
    for (int i = 0; i < 4; i++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(d0), "+d"(d1)
                     : "d"(a), "d"(b));
#if __CUDA_ARCH__ >= 900
    double d2 = d0, d3 = d1;
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%4}, {%0,%1,%2,%3};"
                 : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)
                 : "d"(a), "d"(b));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};"
                 : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)
                 : "d"(a), "d"(b));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%4,%5,%4,%5,%4,%5}, "
                 "{%4,%5,%4,%5}, {%0,%1,%2,%3};"
                 : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)
                 : "d"(a), "d"(b));
    d0 += d2 * d3;
#endif
    out[threadIdx.x] = d0;
    out[threadIdx.x + 32] = d1;
}

// Products with half of the elements of A left out; the selector names which thread holds the indices.
#define SPARSE(NAME, TEXT)                                                                                             \
    extern "C" __global__ void NAME(const u32 *in, float *out)                                                         \
    {                                                                                                                  \
        u32 a[4] = {in[threadIdx.x], in[threadIdx.x + 32], in[threadIdx.x + 64], in[threadIdx.x + 96]};                \
        float d[4] = {out[threadIdx.x], out[threadIdx.x + 32], out[threadIdx.x + 64], out[threadIdx.x + 96]};          \
        asm volatile(TEXT                                                                                              \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(in[threadIdx.x + 128]));                        \
        for (int i = 0; i < 4; i++)                                                                                    \
            out[threadIdx.x + 32 * i] = d[i];                                                                          \
    }
#define SP "mma.sp::ordered_metadata.sync.aligned."
SPARSE(mma_sparse_f16, SP "m16n8k32.row.col.f32.f16.f16.f32 " D4 ", {%4,%5,%6,%7}, {%4,%5,%6,%7}, " D4 ", %8, 0x1;")
SPARSE(mma_sparse_bf16, SP "m16n8k16.row.col.f32.bf16.bf16.f32 " D4 ", {%4,%5}, {%6,%7}, " D4 ", %8, 0x3;")
SPARSE(mma_sparse_tf32, SP "m16n8k16.row.col.f32.tf32.tf32.f32 " D4 ", {%4,%5,%6,%7}, {%4,%5,%6,%7}, " D4 ", %8, 0x0;")
MMA_INT(mma_sparse_s8, SP "m16n8k64.row.col.satfinite.s32.s8.u8.s32 " D4 ", " A4 ", {%4,%5,%8,%9}, " D4 ", %9, 0x0;")
MMA_INT(mma_sparse_u4, SP "m16n8k64.row.col.s32.u4.s4.s32 " D4 ", {%4,%5}, " B2 ", " D4 ", %6, 0x1;")
