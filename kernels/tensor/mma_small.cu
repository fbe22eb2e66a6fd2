// Products of the shapes that the first tensor cores have: Volta's in quarters of a warp, Turing's of halves, bytes, four
// bits and single bits. Chips: sm_75 and later; single bits with XOR before sm_90.

typedef unsigned int u32;

#define HALVES(NAME, TYPE, CONSTRAINT, COUNT, TEXT)                                                                    \
    extern "C" __global__ void NAME(const u32 *in, TYPE *out)                                                          \
    {                                                                                                                  \
        u32 a[2] = {in[threadIdx.x], in[threadIdx.x + 32]}, b[2] = {in[threadIdx.x + 64], in[threadIdx.x + 96]};       \
        TYPE d[8];                                                                                                     \
        for (int i = 0; i < 8; i++)                                                                                    \
            d[i] = out[threadIdx.x + 32 * i];                                                                          \
        asm volatile(TEXT                                                                                              \
                     : "+" CONSTRAINT(d[0]), "+" CONSTRAINT(d[1]), "+" CONSTRAINT(d[2]), "+" CONSTRAINT(d[3]),         \
                       "+" CONSTRAINT(d[4]), "+" CONSTRAINT(d[5]), "+" CONSTRAINT(d[6]), "+" CONSTRAINT(d[7])          \
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));                                                    \
        for (int i = 0; i < COUNT; i++)                                                                                \
            out[threadIdx.x + 32 * i] = d[i];                                                                          \
    }
#define D8 "{%0,%1,%2,%3,%4,%5,%6,%7}"
#define D4 "{%0,%1,%2,%3}"
#define D2 "{%0,%1}"
HALVES(quarter_f32, float, "f", 8, "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 " D8 ", {%8,%9}, {%10,%11}, " D8 ";")
HALVES(quarter_transposed, float, "f", 8, "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32 " D8 ", {%8,%9}, {%10,%11}, " D8 ";")
HALVES(quarter_f16, u32, "r", 4, "mma.sync.aligned.m8n8k4.col.col.f16.f16.f16.f16 " D4 ", {%8,%9}, {%10,%11}, " D4 ";")
HALVES(halves_f32, float, "f", 4, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " D4 ", {%8,%9}, {%10}, " D4 ";")
HALVES(halves_f16, u32, "r", 2, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 " D2 ", {%8,%9}, {%10}, " D2 ";")

#define INTEGERS(NAME, TEXT)                                                                                           \
    extern "C" __global__ void NAME(const u32 *in, int *out)                                                           \
    {                                                                                                                  \
        u32 a = in[threadIdx.x], b = in[threadIdx.x + 32];                                                             \
        int d0 = out[threadIdx.x], d1 = out[threadIdx.x + 32];                                                         \
        asm volatile("mma.sync.aligned." TEXT " {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(d0), "+r"(d1) : "r"(a), "r"(b)); \
        out[threadIdx.x] = d0;                                                                                         \
        out[threadIdx.x + 32] = d1;                                                                                    \
    }
INTEGERS(bytes, "m8n8k16.row.col.s32.s8.s8.s32")
INTEGERS(bytes_saturated, "m8n8k16.row.col.satfinite.s32.u8.s8.s32")
INTEGERS(nibbles, "m8n8k32.row.col.s32.s4.u4.s32")
INTEGERS(nibbles_saturated, "m8n8k32.row.col.satfinite.s32.u4.u4.s32")
#if __CUDA_ARCH__ < 900
INTEGERS(bits_xor, "m8n8k128.row.col.s32.b1.b1.s32.xor.popc")
#endif
#if __CUDA_ARCH__ >= 800
INTEGERS(bits_and, "m8n8k128.row.col.s32.b1.b1.s32.and.popc")
#endif
