// Products on matrix units as inference code has them: quantized layers, attention, and moves of tiles. Built by NVRTC for
// sm_75, sm_80, sm_90 and sm_120.

typedef unsigned int u32;

__device__ __forceinline__ u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

// Quantized dense layer: rows of 64 signed bytes times 8 output channels (a column each), with bias, scale and ReLU. A warp
// computes 16 rows (8 on sm_75).
extern "C" __global__ void dense_s8(const signed char *input, const signed char *weights, const int *bias, float scale,
                                    unsigned char *output, int rows)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int group = lane / 4, member = lane % 4;
#if __CUDA_ARCH__ >= 800
    int row = warp * 16 + group;
    int sum[4] = {bias[member * 2], bias[member * 2 + 1], bias[member * 2], bias[member * 2 + 1]};
    for (int k = 0; k < 64; k += 32) {
        u32 a[4] = {}, b[2];
        for (int i = 0; i < 4; i++)
            if (row + i % 2 * 8 < rows)
                a[i] = *(const u32 *)(input + (row + i % 2 * 8) * 64 + k + i / 2 * 16 + member * 4);
        for (int i = 0; i < 2; i++)
            b[i] = *(const u32 *)(weights + group * 64 + k + i * 16 + member * 4);
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    const int values = 4;
#else
    int row = warp * 8 + group;
    int sum[2] = {bias[member * 2], bias[member * 2 + 1]};
    for (int k = 0; k < 64; k += 16) {
        u32 a = row < rows ? *(const u32 *)(input + row * 64 + k + member * 4) : 0;
        u32 b = *(const u32 *)(weights + group * 64 + k + member * 4);
        asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+r"(sum[0]), "+r"(sum[1])
                     : "r"(a), "r"(b));
    }
    const int values = 2;
#endif
    for (int i = 0; i < values; i++) {
        int to = row + i / 2 * 8;
        int scaled = __float2int_rn((float)sum[i] * scale);
        if (to < rows)
            output[to * 8 + member * 2 + i % 2] = (unsigned char)min(max(scaled, 0), 255);
    }
}

// Transposed tiles of 8 x 8 halves: a warp loads four of them, transposes them in the load, and once more in registers. The
// two agree where the tile lay.
extern "C" __global__ void turn_tiles(const u32 *in, u32 *turned, u32 *again)
{
    __shared__ __align__(16) u32 tile[32 * 4];
    int lane = threadIdx.x;
    for (int i = 0; i < 4; i++)
        tile[i * 32 + lane] = in[blockIdx.x * 128 + i * 32 + lane];
    __syncwarp();
    u32 r[4], address = shared_address(tile) + lane * 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
    for (int i = 0; i < 4; i++) {
        turned[blockIdx.x * 128 + i * 32 + lane] = r[i];
        u32 back;
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(back) : "r"(r[i]));
        again[blockIdx.x * 128 + i * 32 + lane] = back;
    }
}

#if __CUDA_ARCH__ >= 800
// Doubles: d = a b + c for 8 x 8 matrices in steps of 4.
extern "C" __global__ void product_f64(const double *a, const double *b, double *c, int depth)
{
    int group = threadIdx.x / 4, member = threadIdx.x % 4;
    double sum[2] = {c[group * 8 + member * 2], c[group * 8 + member * 2 + 1]};
    for (int k = 0; k < depth; k += 4)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(sum[0]), "+d"(sum[1])
                     : "d"(a[group * depth + k + member]), "d"(b[group * depth + k + member]));
    c[group * 8 + member * 2] = sum[0];
    c[group * 8 + member * 2 + 1] = sum[1];
}

// Copies of `n` words that a block makes in pieces of 16, 8 and 4 bytes, with zeros behind the end.
extern "C" __global__ void copy_pieces(const u32 *in, u32 *out, int n)
{
    __shared__ __align__(16) u32 tile[7 * 64];
    u32 to = shared_address(tile);
    int at = threadIdx.x * 4, left = max(0, min(16, (n - at) * 4));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + threadIdx.x * 16), "l"(in + at), "r"(left));
    at = 256 + threadIdx.x * 2;
    left = max(0, min(8, (n - at) * 4));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + 1024 + threadIdx.x * 8), "l"(in + at), "r"(left));
    asm volatile("cp.async.commit_group;");
    at = 384 + threadIdx.x;
    if (at < n)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + 1536 + threadIdx.x * 4), "l"(in + at));
    else
        tile[384 + threadIdx.x] = 0xffffffff;
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    for (int i = threadIdx.x; i < 7 * 64; i += 64)
        out[i] = tile[i];
}

// Attention of 16 queries over `keys` keys (a multiple of 16), with 16 channels: one warp, softmax by running maximum and sum.
extern "C" __global__ void attention(const unsigned short *q, const unsigned short *k, const unsigned short *v, float *out,
                                     int keys, float scale)
{
    __shared__ __align__(16) unsigned short tile[2][16][24];
    int lane = threadIdx.x, group = lane / 4, member = lane % 4;
    u32 a[4];
    for (int i = 0; i < 4; i++)
        a[i] = *(const u32 *)(q + (group + i % 2 * 8) * 16 + i / 2 * 8 + member * 2);
    float best[2] = {-1e30f, -1e30f}, total[2] = {}, result[2][4] = {};
    for (int from = 0; from < keys; from += 16) {
        for (int i = lane; i < 32; i += 32) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&tile[0][i / 2][i % 2 * 8])),
                         "l"(k + (from + i / 2) * 16 + i % 2 * 8));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&tile[1][i / 2][i % 2 * 8])),
                         "l"(v + (from + i / 2) * 16 + i % 2 * 8));
        }
        asm volatile("cp.async.wait_all;");
        __syncwarp();
        u32 b[4], c[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                     : "r"(shared_address(&tile[0][lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
                     : "r"(shared_address(&tile[1][lane % 16][lane / 16 * 8])));
        float score[2][4] = {};
        for (int half = 0; half < 2; half++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(score[half][0]), "+f"(score[half][1]), "+f"(score[half][2]), "+f"(score[half][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[half]), "r"(b[half + 2]));
        u32 p[4];
        for (int line = 0; line < 2; line++) {
            float most = best[line];
            for (int i = 0; i < 4; i++)
                most = fmaxf(most, score[i / 2][line * 2 + i % 2] * scale);
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
            float shrink = __expf(best[line] - most), sum = 0, weight[4];
            for (int i = 0; i < 4; i++)
                sum += weight[i] = __expf(score[i / 2][line * 2 + i % 2] * scale - most);
            sum += __shfl_xor_sync(~0u, sum, 1);
            sum += __shfl_xor_sync(~0u, sum, 2);
            best[line] = most;
            total[line] = total[line] * shrink + sum;
            for (int half = 0; half < 2; half++) {
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p[half * 2 + line]) : "f"(weight[half * 2 + 1]), "f"(weight[half * 2]));
                result[half][line * 2] *= shrink;
                result[half][line * 2 + 1] *= shrink;
            }
        }
        for (int half = 0; half < 2; half++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(result[half][0]), "+f"(result[half][1]), "+f"(result[half][2]), "+f"(result[half][3])
                         : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(c[half * 2]), "r"(c[half * 2 + 1]));
        __syncwarp();
    }
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 4; i++)
            out[(group + i / 2 * 8) * 16 + half * 8 + member * 2 + i % 2] = result[half][i] / total[i / 2];
}
#endif

#if __CUDA_ARCH__ >= 900
// Fragments stored as tiles, as they are and transposed.
extern "C" __global__ void store_tiles(const u32 *in, u32 *out)
{
    __shared__ __align__(16) u32 tile[2][128];
    int lane = threadIdx.x;
    u32 r[4], address = shared_address(tile) + lane * 16;
    for (int i = 0; i < 4; i++)
        r[i] = in[i * 32 + lane];
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]),
                 "r"(r[3]));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0+512], {%1,%2};" ::"r"(address), "r"(r[0]), "r"(r[1]));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0+768], {%1,%2};" ::"r"(address), "r"(r[2]), "r"(r[3]));
    __syncwarp();
    for (int i = 0; i < 8; i++)
        out[i * 32 + lane] = tile[i / 4][i % 4 * 32 + lane];
}
#endif
