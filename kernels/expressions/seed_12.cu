// 20 random expressions of seed 12; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)((__float2ull_rn((__uint2float_rd(u0)))));
    out[1 * n + t] = (unsigned long long)((__double2ll_rz(d2)));
    out[2 * n + t] = (unsigned long long)((__double_as_longlong(d1)));
    out[3 * n + t] = (unsigned long long)(((unsigned long long)(((__mul64hi((~((long long)i0)), (llabs(l0 >> 1)))) & (((__double2ll_rn(d1)) % ((((long long)((unsigned long long)l0 * (unsigned long long)((long long)((unsigned long long)l2 * (unsigned long long)l0)))) & 0xffffffffffll) + 1ll)))))));
    out[4 * n + t] = (unsigned long long)__float_as_uint((fmaxf(((float)6889585716753078892ull), (__fmul_rd((__fmul_ru((((((-6.3925984e-7f) / f2)) - f2)), (half_of(((f2 * f0)))))), (fmaf((__fmaf_rd((sqrtf(f0)), (__saturatef(f2)), (__fadd_ru((-2.685547e-4f), f2)))), (__int2float_ru(((int)(-43ll)))), (__frcp_rn((__fadd_rz((-6.7764225e6f), f0)))))))))));
    out[5 * n + t] = (unsigned long long)(unsigned)((__float2int_rz(((float)(unsigned char)((__funnelshift_l((((__umul24(u0, u0)) * (__usad(u0, u2, u0)) + (((u0 << 9) + u2)))), u2, ((unsigned)((w2 > w2))))) >> 16)))));
    out[6 * n + t] = (unsigned long long)(unsigned)((__dp4a((__dp4a((((min(((4294967231u / (u1 | 1u))), (__float2uint_rz(f0)))) | u1)), (__funnelshift_l((__float2uint_rn(((f2 + f0)))), (__funnelshift_r((__funnelshift_l(u2, u1, 4294967264u)), ((u2 / 1000u)), ((u1 << (72u & 31u))))), (((__umul24(u2, u0)) * (~11982204u))))), ((((__dp4a(((u0 + u2)), (__float2uint_rz((-1.0097027e-5f))), (((4294967215u >> 11) & 0x1fu)))) >> 11) & 0x1fu)))), (__umulhi((((__float_as_uint(f2)) * (max(((u0 % (u0 | 1u))), ((u0 / 1000u)))))), (__float2uint_rn((__fadd_rd(((f0 * 2.0f)), (-4.902093e7f))))))), u2)));
    out[7 * n + t] = (unsigned long long)(((((long long)(__funnelshift_lc((__umul24(((u0 * u0)), (__funnelshift_r(u0, u1, u0)))), u1, u1))) >> ((__float2int_rn((__fmul_ru((ceilf(((f2 * f0 + (-2.784375e0f))))), (__double2float_rd(((double)(34ll)))))))) & 63))));
    out[8 * n + t] = (unsigned long long)(unsigned)(((((int)(signed char)((i2 <= ((((i1 / -((i2 & 0xfff) + 2))) / -3))))) % ((((int)(unsigned short)((((((max(u0, u1)) & u1) | (~(max(u0, u1)) & (__float2uint_rn(f0))))) % 7u))) & 0xffff) + 1))));
    out[9 * n + t] = (unsigned long long)(((((((i0 ? (max((__umul64hi(w0, w1)), (__brevll(2232146064179978149ull)))) : (__float2ull_rn(((f0 * 2.0f)))))) / (((((((i2 >> (i0 & 31))) ? (max(w0, w0)) : ((unsigned long long)l2))) % ((__double2ull_ru(((d2 * d1)))) | 1ull))) | 1ull))) | (max(7355114958493639321ull, ((((unsigned long long)((long long)((unsigned long long)l0 * (unsigned long long)l2))) << 13)))))));
    out[10 * n + t] = (unsigned long long)((__mul64hi((__double2ll_rn(d1)), (__double2ll_rz(d1)))));
    out[11 * n + t] = (unsigned long long)(unsigned)((!((fmaf(f0, (((__mulhi((__ffsll(l0)), (((-1420834978) <= i2)))) ? (rintf(((float)(unsigned short)(u1 >> 16)))) : f2)), f2)) >= ((float)(((((floor(d1)) - (__drcp_rn(d1)))) - (trunc(d0))))))));
    out[12 * n + t] = (unsigned long long)(unsigned)((min((__usad(u2, (__usad(u1, ((((2438291214u / (u2 | 1u))) % (((u2 - u2)) | 1u))), u0)), (((((((3005115102u % (u0 | 1u))) + (__uhadd(22u, u2)))) >> 11) & 0x1fu)))), (((((__funnelshift_rc(u0, (__double2uint_rz((-3.0236569763840004e13))), ((1971942514u << (u2 & 31u))))) / 1000u)) << ((((__double2uint_rz((fmax(d1, d0)))) | ((((u2 * 62u)) - u1)))) & 31u))))));
    out[13 * n + t] = (unsigned long long)__double_as_longlong((__hiloint2double((((__fadd_rz(((-(__int2float_rz((-2))))), (__fadd_rz(((float)(98)), (truncf(f1)))))) < ((((float)(max(l1, l1))) + (((5.4091214e-7f) < (fmodf(f1, f2)) ? (5.4091214e-7f) : (fmodf(f1, f2)))))))), i1)));
    out[14 * n + t] = (unsigned long long)(unsigned)((__uhadd((__uhadd((__float_as_uint(f0)), (__umul24(u2, (__brev(((unsigned)(w2 >> 32)))))))), (((~(((((u1 & 3u) | (~u1 & 2631387632u))) % (((u2 / 1000u)) | 1u)))) >> ((__float_as_uint(f0)) & 31u))))));
    out[15 * n + t] = (unsigned long long)__float_as_uint(((float)(unsigned short)((__float2uint_rz(f2)) >> 16)));
    out[16 * n + t] = (unsigned long long)((__brevll(w2)));
    out[17 * n + t] = (unsigned long long)__double_as_longlong((floor((__longlong_as_double(((long long)((unsigned long long)l1 - (unsigned long long)((l0 / 1000000007ll)))))))));
    out[18 * n + t] = (unsigned long long)(unsigned)(((((unsigned)(short)((__brev(((unsigned)(unsigned char)(((u2 / 1000u)) >> 8)))) >> 16)) / 1000u)));
    out[19 * n + t] = (unsigned long long)((~(__double_as_longlong(d1))));
}
