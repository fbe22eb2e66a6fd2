// 20 random expressions of seed 18; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__float_as_uint((((-1.5844727e-2f) < (sqrtf((sqrtf((__fmaf_ru((fmaf(-f1, (4.0283205e-4f), fabsf(f1))), f2, (__fadd_rd(f1, f0)))))))) ? (-1.5844727e-2f) : (sqrtf((sqrtf((__fmaf_ru((fmaf(-f1, (4.0283205e-4f), fabsf(f1))), f2, (__fadd_rd(f1, f0)))))))))));
    out[1 * n + t] = (unsigned long long)((min(((long long)((unsigned long long)((long long)((unsigned long long)(__mul64hi((__float2ll_rz((3.15392e5f))), (__double2ll_rn(d1)))) * (unsigned long long)(7937450846579617970ll))) - (unsigned long long)((long long)(((__double2ull_ru(d1)) + w1))))), ((long long)(__double2int_rn(((double)(__fmaf_ru(f2, f1, f2)))))))));
    out[2 * n + t] = (unsigned long long)((min(((i1 ? (min((64ll), (llabs(((long long)u1) >> 1)))) : (((__mul64hi(((l0 & l0)), (__double2ll_rz(d1)))) & l1)))), l1)));
    out[3 * n + t] = (unsigned long long)(unsigned)(((u2 - ((unsigned)(unsigned char)((__funnelshift_rc((__sad(((i0 < i0)), ((int)(unsigned short)u2), ((u2 - 43u)))), u2, ((((~u2) >> 11) & 0x1fu)))) >> 8)))));
    out[4 * n + t] = (unsigned long long)(unsigned)((__brev((__funnelshift_lc((__float2uint_rz((__double2float_rd((fmin(d0, (2.502221352972909e-23))))))), (__funnelshift_lc(1255238152u, (~u2), (__funnelshift_rc(u2, ((u1 / (u0 | 1u))), (__double2uint_rz(d0)))))), ((((((u1 >> (u0 & 31u))) * u0)) % ((permuted(((u1 - u1)), (((u2 << 9) + u1)), ((u0 % (u0 | 1u))))) | 1u))))))));
    out[5 * n + t] = (unsigned long long)(unsigned)((~u0));
    out[6 * n + t] = (unsigned long long)((min(w0, ((((97ull % (w0 | 1ull))) / ((((unsigned long long)(~(__funnelshift_r(u2, 574795481u, 4294967259u))) * (unsigned long long)(((((81u << 9) + 4294967222u)) + ((u1 - u0)))) + ((unsigned long long)(__float2ll_rz(f2))))) | 1ull))))));
    out[7 * n + t] = (unsigned long long)(unsigned)((((((~(min(u1, (__umulhi(u2, u0))))) % (u1 | 1u))) / 1000u)));
    out[8 * n + t] = (unsigned long long)(((unsigned long long)(((long long)((((((int)l1) < ((f1 <= f0)))) / ((i0 & 0xffff) + 1))) * (long long)i2))));
    out[9 * n + t] = (unsigned long long)__double_as_longlong(((double)(((__umul64hi(((unsigned long long)l0), (((((unsigned long long)u0 * (unsigned long long)u0 + 18371086286675390663ull)) - (__brevll(4ull)))))) % (((unsigned long long)(((~l1) >> (((f1 == f0)) & 63)))) | 1ull)))));
    out[10 * n + t] = (unsigned long long)((((__float2ll_rz((fabsf((((__fmaf_rd(f2, (-1.3841204e7f), (-2.75e0f))) - (floorf(f0)))))))) / 1000000007ll)));
    out[11 * n + t] = (unsigned long long)((((-32ll) / 1000000007ll)));
    out[12 * n + t] = (unsigned long long)(((unsigned long long)(__double_as_longlong(d2))));
    out[13 * n + t] = (unsigned long long)(unsigned)((__umul24(((((((int)(0u - (unsigned)((i0 >> (i0 & 31))))) >> ((__double2int_rn((fmax(d0, (1.2234329294500048e26))))) & 31))) ? ((unsigned)i1) : ((((u2 >> (((unsigned)(short)(u0 >> 16)) & 31u))) / 1000u)))), (__byte_perm(u2, ((unsigned)(((unsigned long long)((u1 / 1000u))) >> 32)), (((((max(u1, u2)) / 1000u)) << ((__funnelshift_lc(((4294967269u % (u1 | 1u))), (((u0 & u0) | (~u0 & u2))), (__funnelshift_lc(u2, u1, u2)))) & 31u))) & 0x7777u)))));
    out[14 * n + t] = (unsigned long long)__float_as_uint((fabsf((__double2float_rd(((double)(((__double2ull_ru(d2)) * ((i1 ? 15802609463405624103ull : w2))))))))));
    out[15 * n + t] = (unsigned long long)(unsigned)((((-2.3068672e8f) == f1)));
    out[16 * n + t] = (unsigned long long)(unsigned)(((((u1 - (((~((u1 | u0))) % (u0 | 1u))))) >> ((((__float2uint_rn((floorf(f0)))) / ((__brev((__brev(((u0 % (u0 | 1u))))))) | 1u))) & 31u))));
    out[17 * n + t] = (unsigned long long)(unsigned)((((__brev(u0)) >= 902366109u)));
    out[18 * n + t] = (unsigned long long)__double_as_longlong(((-(trunc(d0)))));
    out[19 * n + t] = (unsigned long long)(unsigned)((((__usad((__funnelshift_rc(u1, (min((__usad(u2, u1, u1)), (~u1))), ((u0 % ((__float_as_uint(f2)) | 1u))))), (((__float2uint_rn(((float)(unsigned char)(u1 >> 16)))) * (__usad((__funnelshift_l(u2, u1, 4294967208u)), ((248958634u - u2)), (((u1 << 9) + u1)))))), (~(((u1 & (__funnelshift_lc(u2, u1, u0))) | (~u1 & u0)))))) / 1000u)));
}
