// Products of a warp with short formats, scaled by blocks. Chips: sm_120a.

typedef unsigned int u32;
typedef unsigned short u16;

#if defined(__CUDA_ARCH_FEAT_SM120_ALL)
#define D4 "{%0,%1,%2,%3}"
#define PRODUCT(NAME, TEXT)                                                                                            \
    extern "C" __global__ void NAME(const u32 *in, float *out)                                                         \
    {                                                                                                                  \
        u32 a[4] = {in[threadIdx.x], in[threadIdx.x + 32], in[threadIdx.x + 64], in[threadIdx.x + 96]};                \
        u32 b[2] = {in[threadIdx.x + 128], in[threadIdx.x + 160]}, sa = in[threadIdx.x + 192], sb = in[threadIdx.x + 224]; \
        float d[4] = {out[threadIdx.x], out[threadIdx.x + 32], out[threadIdx.x + 64], out[threadIdx.x + 96]};          \
        asm volatile(TEXT                                                                                              \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(sa), "r"(sb), "h"((u16)1), "h"((u16)2)); \
        for (int i = 0; i < 4; i++)                                                                                    \
            out[threadIdx.x + 32 * i] = d[i];                                                                          \
    }
#define AB ", {%4,%5,%6,%7}, {%8,%9}, "
#define F8(A, B) "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32." A "." B ".f32 " D4 AB D4 ";"
PRODUCT(f8_e4m3, F8("e4m3", "e4m3"))
PRODUCT(f8_e3m2, F8("e3m2", "e5m2"))
PRODUCT(f8_e2m3, F8("e2m3", "e2m1"))
PRODUCT(f8_e2m1, F8("e2m1", "e3m2"))
#define SCALES ", %10, {0, %12}, %11, {%13, 1};"
PRODUCT(mxf8, "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0 " D4 AB D4 ", %10, {0, 1}, %11, {2, 3};")
PRODUCT(mxf4, "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 " D4 AB D4 ", %10, {0, 1}, %11, {2, 1};")
PRODUCT(mxf4nvf4, "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 " D4 AB D4 ", %10, {0, 1}, %11, {0, 3};")
#define SPARSE(A, B) "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32." A "." B ".f32 " D4 ", {%4,%5,%6,%7}, {%8,%9,%4,%5}, " D4 ", %10, 0x0;"
PRODUCT(sparse_f8, SPARSE("e4m3", "e5m2"))
PRODUCT(sparse_f6, SPARSE("e2m3", "e3m2"))
#endif
