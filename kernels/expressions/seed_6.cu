// 20 random expressions of seed 6; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)(((long long)((unsigned long long)(max((12ll), (__double2ll_rz((((fma((3.384213283398141e-29), d1, d2)) * ((d2 > d0 ? d2 : d0)))))))) * (unsigned long long)(((__float_as_int(f0)) ? l2 : l2)))));
    out[1 * n + t] = (unsigned long long)(unsigned)((__umulhi(207303558u, u0)));
    out[2 * n + t] = (unsigned long long)(unsigned)((__umulhi((__float_as_uint(f0)), (__float_as_uint(f1)))));
    out[3 * n + t] = (unsigned long long)__double_as_longlong((trunc((fma((__longlong_as_double(l0)), (sqrt((trunc(((double)u0))))), (__longlong_as_double((__double2ll_rz(((double)u2))))))))));
    out[4 * n + t] = (unsigned long long)(unsigned)((max((((__float2uint_rz((__fadd_rz((__frcp_rn(f1)), (sqrtf(f0)))))) < (permuted(((((2885595303u >> (1244431u & 31u))) >> (((i0 ? 1688487916u : u2)) & 31u))), (((((u0 * 4294967231u + u0)) & ((unsigned)(short)(u2 >> 16))) | (~((u0 * 4294967231u + u0)) & (__funnelshift_l(u1, u0, u2))))), (max((__float_as_uint(f2)), u1)))))), i1)));
    out[5 * n + t] = (unsigned long long)__double_as_longlong((__longlong_as_double((__double_as_longlong(d0)))));
    out[6 * n + t] = (unsigned long long)__double_as_longlong((((__popcll(w0)) ? (((((__hiloint2double(((i0 >> 5)), (__popcll(w2)))) - (__longlong_as_double(((long long)40u))))) / (ceil((trunc(((d2 - (8.50377546157688e-12))))))))) : (trunc((__longlong_as_double(((((long long)u0) / ((((l2 % ((l1 & 0xffffffffffll) + 1ll))) & 0xffffffffffll) + 1ll))))))))));
    out[7 * n + t] = (unsigned long long)__float_as_uint(((float)(unsigned char)((__dp4a(1441858857u, u0, ((unsigned)(short)((__umul24(((u2 + u1)), (max(u2, u0)))) >> 16)))) >> 16)));
    out[8 * n + t] = (unsigned long long)(((((i0 && ((u0 < u0)))) ? (__mul64hi(((long long)(max((__double2ull_ru(d2)), ((w2 + w0))))), (((long long)((int)((unsigned)((i2 || i0)) - (unsigned)((int)((unsigned)i1 - (unsigned)(-1874596918))))) * (long long)((int)((unsigned)(__ffsll(l1)) * (unsigned)i0)))))) : l0)));
    out[9 * n + t] = (unsigned long long)(unsigned)(((int)((unsigned)((((((unsigned long long)((long long)((unsigned long long)(-22ll) - (unsigned long long)l0))) | (((__float2ull_rn(f1)) | w0)))) <= (min(((((i0 ^ i1)) ? (__double2ull_ru(d0)) : ((w2 | w2)))), (__brevll(((unsigned long long)u1))))))) << ((__double2hiint(d1)) & 31))));
    out[10 * n + t] = (unsigned long long)__double_as_longlong((cos(((double)(1ll)))));
    out[11 * n + t] = (unsigned long long)(((unsigned long long)(((__mul64hi((~l0), ((long long)((unsigned long long)(llabs(l0 >> 1)) + (unsigned long long)l2)))) / (((~((((long long)((unsigned long long)l0 + (unsigned long long)l0)) % (((__float2ll_rz(f2)) & 0xffffffffffll) + 1ll)))) & 0xffffffffffll) + 1ll)))));
    out[12 * n + t] = (unsigned long long)__double_as_longlong((((ceil((__longlong_as_double((__float2ll_rz((ceilf(f1)))))))) * (__drcp_rn(d1)))));
    out[13 * n + t] = (unsigned long long)(((unsigned long long)28u));
    out[14 * n + t] = (unsigned long long)__float_as_uint((sqrtf((1.982464e5f))));
    out[15 * n + t] = (unsigned long long)__double_as_longlong(((double)(((((sqrtf((__double2float_rz(d2)))) < ((((f0 / (-9.265137e-3f))) * 2.0f)))) >> 5))));
    out[16 * n + t] = (unsigned long long)(unsigned)((__umul24((__float2uint_rz(((float)(__funnelshift_lc((__float2uint_rz(f2)), (__byte_perm(u2, u1, u1 & 0x7777u)), ((i0 ? u1 : u2))))))), (__float_as_uint(f0)))));
    out[17 * n + t] = (unsigned long long)((max(((long long)((unsigned long long)l0 - (unsigned long long)l2)), (((long long)(((fabsf((rintf(f0)))) < (half_sum((((u2 & u2) | (~u2 & u0))), u2)))) * (long long)(((((ceilf((3.3792e5f))) == ((float)u2))) && (abs(((int)(unsigned char)i0) >> 1)))))))));
    out[18 * n + t] = (unsigned long long)__float_as_uint((cbrtf(((float)((long long)((unsigned long long)(((__mul64hi(l0, l2)) / (((llabs(l2 >> 1)) & 0xffffffffffll) + 1ll))) + (unsigned long long)(__double2ll_rn(((d0 > d0 ? d0 : d0))))))))));
    out[19 * n + t] = (unsigned long long)((min((((min((((__double2ull_ru(d1)) % (((w0 % (w1 | 1ull))) | 1ull))), (__umul64hi((max(w2, 18446744073709551607ull)), (max(w2, w1)))))) % ((((__float2ull_rn(((float)u2))) - (((((unsigned long long)u0 * (unsigned long long)u1 + w2)) - ((w0 / (w0 | 1ull))))))) | 1ull))), ((((((w2 << 13)) << 13)) - (((__umul64hi(((w0 - w0)), w0)) << 13)))))));
}
