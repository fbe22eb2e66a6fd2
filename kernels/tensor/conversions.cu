// Packed conversions of short floating-point formats. Chips: sm_75 and later.

typedef unsigned int u32;
typedef unsigned short u16;

#define PACK(NAME, TYPE, TEXT)                                                                                         \
    extern "C" __global__ void NAME(const float *in, TYPE *out)                                                        \
    {                                                                                                                  \
        TYPE r;                                                                                                        \
        asm(TEXT : "=r"(r) : "f"(in[threadIdx.x]), "f"(in[threadIdx.x + 32]));                                         \
        out[threadIdx.x] = r;                                                                                          \
    }
#define PACK_16(NAME, TEXT)                                                                                            \
    extern "C" __global__ void NAME(const float *in, u16 *out)                                                         \
    {                                                                                                                  \
        u16 r;                                                                                                         \
        asm(TEXT : "=h"(r) : "f"(in[threadIdx.x]), "f"(in[threadIdx.x + 32]));                                         \
        out[threadIdx.x] = r;                                                                                          \
    }
#define UNPACK(NAME, TEXT)                                                                                             \
    extern "C" __global__ void NAME(const u16 *in, u32 *out)                                                           \
    {                                                                                                                  \
        u32 r;                                                                                                         \
        asm(TEXT : "=r"(r) : "h"(in[threadIdx.x]));                                                                    \
        out[threadIdx.x] = r;                                                                                          \
    }

#if __CUDA_ARCH__ >= 800
PACK(f16x2, u32, "cvt.rn.f16x2.f32 %0, %1, %2;")
PACK(f16x2_rz, u32, "cvt.rz.f16x2.f32 %0, %1, %2;")
PACK(f16x2_relu, u32, "cvt.rn.relu.f16x2.f32 %0, %1, %2;")
PACK(bf16x2, u32, "cvt.rn.bf16x2.f32 %0, %1, %2;")
PACK(bf16x2_rz_relu, u32, "cvt.rz.relu.bf16x2.f32 %0, %1, %2;")
extern "C" __global__ void tf32(const float *in, u32 *out)
{
    u32 r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(in[threadIdx.x]));
    out[threadIdx.x] = r;
}
extern "C" __global__ void bf16_arithmetic(const u32 *in, u32 *out)
{
    u32 a = in[threadIdx.x], b = in[threadIdx.x + 32], r, s;
    asm("fma.rn.bf16x2 %0, %1, %2, %1;" : "=r"(r) : "r"(a), "r"(b));
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(s) : "r"(r), "r"(b));
    asm("neg.bf16x2 %0, %1;" : "=r"(r) : "r"(s));
    asm("fma.rn.relu.bf16x2 %0, %1, %2, %1;" : "=r"(s) : "r"(r), "r"(b));
#if __CUDA_ARCH__ >= 860
    asm("min.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(s), "r"(a));
#else
    asm("min.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(s), "r"(a));
#endif
    out[threadIdx.x] = r;
}
#endif
#if __CUDA_ARCH__ >= 890
PACK_16(e4m3x2, "cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;")
PACK_16(e5m2x2_relu, "cvt.rn.satfinite.relu.e5m2x2.f32 %0, %1, %2;")
UNPACK(from_e4m3x2, "cvt.rn.f16x2.e4m3x2 %0, %1;")
UNPACK(from_e5m2x2_relu, "cvt.rn.relu.f16x2.e5m2x2 %0, %1;")
extern "C" __global__ void e4m3x2_of_f16x2(const u32 *in, u16 *out)
{
    u16 r;
    asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(r) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = r;
}
#endif
#if __CUDA_ARCH__ >= 900
PACK(bf16x2_satfinite, u32, "cvt.rn.satfinite.bf16x2.f32 %0, %1, %2;")
extern "C" __global__ void integers_of_bf16(const u16 *in, u32 *out)
{
    int r;
    u16 s;
    asm("cvt.rni.s32.bf16 %0, %1;" : "=r"(r) : "h"(in[threadIdx.x]));
    asm("cvt.rn.bf16.s32 %0, %1;" : "=h"(s) : "r"(r * 3));
    out[threadIdx.x] = r + s;
}
#endif
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM110_ALL)
PACK_16(e2m3x2, "cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;")
PACK_16(e3m2x2_relu, "cvt.rn.satfinite.relu.e3m2x2.f32 %0, %1, %2;")
PACK_16(ue8m0x2_rz, "cvt.rz.ue8m0x2.f32 %0, %1, %2;")
PACK_16(ue8m0x2_rp, "cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;")
UNPACK(from_e2m3x2, "cvt.rn.f16x2.e2m3x2 %0, %1;")
UNPACK(from_e3m2x2, "cvt.rn.relu.f16x2.e3m2x2 %0, %1;")
UNPACK(from_ue8m0x2, "cvt.rn.bf16x2.ue8m0x2 %0, %1;")
extern "C" __global__ void e2m1x2(const float *in, u32 *out)
{
    u32 r;
    asm("{ .reg .b8 t, z; cvt.rn.satfinite.e2m1x2.f32 t, %1, %2; mov.b32 %0, {t, t, t, t}; }"
        : "=r"(r)
        : "f"(in[threadIdx.x]), "f"(in[threadIdx.x + 32]));
    out[threadIdx.x] = r;
}
extern "C" __global__ void from_e2m1x2(const u32 *in, u32 *out)
{
    u32 r;
    asm("{ .reg .b8 a, b, c, d; mov.b32 {a, b, c, d}, %1; cvt.rn.f16x2.e2m1x2 %0, b; }" : "=r"(r) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = r;
}
#endif
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
extern "C" __global__ void stochastic(const float *in, const u32 *bits, u32 *out)
{
    u32 r, s, t;
    asm("cvt.rs.f16x2.f32 %0, %1, %2, %3;" : "=r"(r) : "f"(in[threadIdx.x]), "f"(in[threadIdx.x + 32]), "r"(bits[threadIdx.x]));
    asm("cvt.rs.relu.satfinite.bf16x2.f32 %0, %1, %2, %3;" : "=r"(s) : "f"(in[threadIdx.x]), "f"(in[threadIdx.x + 32]), "r"(bits[threadIdx.x]));
    asm("cvt.rs.satfinite.e4m3x4.f32 %0, {%1, %2, %3, %4}, %5;"
        : "=r"(t)
        : "f"(in[threadIdx.x]), "f"(in[threadIdx.x + 32]), "f"(in[threadIdx.x + 64]), "f"(in[threadIdx.x + 96]), "r"(bits[threadIdx.x]));
    out[threadIdx.x] = r + s + t;
}
extern "C" __global__ void pairs(const float2 *in, float2 *out)
{
    unsigned long long a = *(unsigned long long *)&in[threadIdx.x], b = *(unsigned long long *)&in[threadIdx.x + 32], c, d;
    asm("fma.rn.f32x2 %0, %1, %2, %1;" : "=l"(c) : "l"(a), "l"(b));
    asm("add.rz.f32x2 %0, %1, %2;" : "=l"(d) : "l"(c), "l"(b));
    asm("mul.rn.ftz.f32x2 %0, %1, %2;" : "=l"(c) : "l"(d), "l"(a));
    *(unsigned long long *)&out[threadIdx.x] = c;
}
#endif
