// 20 random expressions of seed 14; `cargo xtask expressions` writes such files.
static __device__ float float_of_half(unsigned x) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((unsigned short)x));
    return f;
}
static __device__ float half_of(float x) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return float_of_half(h);
}
static __device__ float half_sum(unsigned a, unsigned b) {
    unsigned short h;
    asm("add.f16 %0, %1, %2;" : "=h"(h) : "h"((unsigned short)a), "h"((unsigned short)b));
    return float_of_half(h);
}
static __device__ float half_product(unsigned a, unsigned b) {
    unsigned short h;
    asm("{ .reg .f16 z; mov.b16 z, 0x8000U; fma.rn.f16 %0, %1, %2, z; }"
        : "=h"(h) : "h"((unsigned short)a), "h"((unsigned short)b));
    return float_of_half(h);
}
static __device__ unsigned permuted(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
extern "C" __global__ void expressions(const int* i, const unsigned* u, const long long* l, const unsigned long long* w, const float* f, const double* d, unsigned long long* out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int i0 = i[0 * n + t];
    int i1 = i[1 * n + t];
    int i2 = i[2 * n + t];
    unsigned u0 = u[0 * n + t];
    unsigned u1 = u[1 * n + t];
    unsigned u2 = u[2 * n + t];
    long long l0 = l[0 * n + t];
    long long l1 = l[1 * n + t];
    long long l2 = l[2 * n + t];
    unsigned long long w0 = w[0 * n + t];
    unsigned long long w1 = w[1 * n + t];
    unsigned long long w2 = w[2 * n + t];
    float f0 = f[0 * n + t];
    float f1 = f[1 * n + t];
    float f2 = f[2 * n + t];
    double d0 = d[0 * n + t];
    double d1 = d[1 * n + t];
    double d2 = d[2 * n + t];
    out[0 * n + t] = (unsigned long long)((((long long)(__popcll(10464109847880976097ull)) * (long long)(((trunc((2.2794120013713838e-8))) > (fabs(((((double)w2) > ((double)(5043264010402064694ll)) ? ((double)w2) : ((double)(5043264010402064694ll)))))))))));
    out[1 * n + t] = (unsigned long long)((__float2ull_rn((-4.0550402e4f))));
    out[2 * n + t] = (unsigned long long)(unsigned)(((d1 > (((fma(d2, ((double)((unsigned long long)u2)), (__longlong_as_double(l0)))) + (((-3.7447686188382758e28) + (-1.0804774512805749e24))))))));
    out[3 * n + t] = (unsigned long long)(unsigned)(((((((max((__funnelshift_l(u2, ((u2 + u2)), (__float_as_uint(f2)))), u2)) / (((((((((82u & 80u) | (~82u & u1))) % 7u)) << 9) + (__float_as_uint(f2)))) | 1u))) << 9) + (__brev((((u0 & (__umulhi((__umul24(u1, u0)), (__funnelshift_r(1260040849u, u2, u1))))) | (~u0 & ((unsigned)((i2 ^ i0)))))))))));
    out[4 * n + t] = (unsigned long long)((((max((((((min(w0, w0)) % (18446744073709551570ull | 1ull))) - ((unsigned long long)(max((-53ll), (16ll)))))), ((((((w1 ^ 13319804425123960094ull)) + ((w1 / (w1 | 1ull))))) >> (((int)((unsigned)((int)((unsigned)i1 + (unsigned)i0)) * (unsigned)i2)) & 63))))) / (((((18446744073709551525ull + w1)) + (((((__umul64hi(18446744073709551521ull, 4086624780417804057ull)) % ((__brevll(16412541050261899749ull)) | 1ull))) * (__umul64hi((min(w2, w2)), ((w1 / (w1 | 1ull))))))))) | 1ull))));
    out[5 * n + t] = (unsigned long long)__float_as_uint((__fmaf_ru((__double2float_rd(((double)(((max(1584210264968276707ull, 1649420089171110097ull)) / ((max(w1, w0)) | 1ull)))))), f1, ((float)(unsigned char)((__float2uint_rn((__int_as_float((!i0))))) >> 16)))));
    out[6 * n + t] = (unsigned long long)__float_as_uint(((float)(unsigned short)((__double2uint_rz(d1)) >> 16)));
    out[7 * n + t] = (unsigned long long)(unsigned)(((i0 <= ((int)(__double2uint_rz((((fmin(d0, d1)) * (rint(d1))))))))));
    out[8 * n + t] = (unsigned long long)(unsigned)((((__double2ll_rz(((((((l1 < (-61ll))) ? (((-3.489443485735666e27) * d0)) : (-3.2610768469290563e-20))) > (2.561137080192566e-10) ? ((((l1 < (-61ll))) ? (((-3.489443485735666e27) * d0)) : (-3.2610768469290563e-20))) : (2.561137080192566e-10))))) < (llabs(((long long)((unsigned long long)(((__double2ll_rz((2.863565085952273e-29))) >> 37)) + (unsigned long long)l0)) >> 1)))));
    out[9 * n + t] = (unsigned long long)(unsigned)(((((l1 >> 37)) < (__double_as_longlong(d1)))));
    out[10 * n + t] = (unsigned long long)((__float2ull_rn((__fmaf_rd(f2, (2.814378e8f), ((float)w1))))));
    out[11 * n + t] = (unsigned long long)__float_as_uint((fabsf((half_sum(2669931861u, ((((unsigned)(short)(u1 >> 16)) - ((((unsigned)(unsigned char)(u2 >> 8)) % 7u)))))))));
    out[12 * n + t] = (unsigned long long)((((((((__mul64hi((((-61127325) ? l2 : (44ll))), (((long long)(-22) * (long long)i0)))) / (((__double_as_longlong(d2)) & 0xffffffffffll) + 1ll))) / 1000000007ll)) & l1)));
    out[13 * n + t] = (unsigned long long)(unsigned)(((l2 < (((__mul64hi((((((-41) ? (7287660722812765302ll) : l0)) / ((l0 & 0xffffffffffll) + 1ll))), (5ll))) % (((__double2ll_rn((fma(d0, ((double)(1.6240346e9f)), ((double)f0))))) & 0xffffffffffll) + 1ll))))));
    out[14 * n + t] = (unsigned long long)(unsigned)((__double2uint_rz((fabs((fabs((floor(((d2 - (6.42538070678711e-6))))))))))));
    out[15 * n + t] = (unsigned long long)__double_as_longlong((fabs(((double)(unsigned char)(u0 >> 8)))));
    out[16 * n + t] = (unsigned long long)((__brevll(w0)));
    out[17 * n + t] = (unsigned long long)(((long long)((unsigned long long)l2 + (unsigned long long)((((((float)(unsigned char)(((u1 + 72u)) >> 16)) != (-2.425909e-6f))) ? l0 : ((long long)((((int)((unsigned)i2 + (unsigned)i0)) ? (__double2ull_ru(d0)) : ((w0 | w2))))))))));
    out[18 * n + t] = (unsigned long long)__float_as_uint(((float)(signed char)i0));
    out[19 * n + t] = (unsigned long long)__float_as_uint((ceilf((__saturatef((half_of(f0)))))));
}
