// 20 random expressions of seed 17; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)(((unsigned long long)u0));
    out[1 * n + t] = (unsigned long long)(((long long)((((unsigned long long)(__double2ll_rn(((double)l0)))) + (max(((((18446744073709551583ull - w2)) % (((unsigned long long)u0) | 1ull))), (max(((i0 ? w0 : 40ull)), (__brevll(w1))))))))));
    out[2 * n + t] = (unsigned long long)(unsigned)((__funnelshift_r(u1, (__brev((((((__byte_perm(u2, u0, u2 & 0x7777u)) >> ((__double2uint_rz(d0)) & 31u))) * (__byte_perm(u0, ((u0 % 7u)), (((u1 >> 11) & 0x1fu)) & 0x7777u)) + (((__double2uint_rz(d1)) | (__float2uint_rn(f2)))))))), ((((unsigned)(short)((__umulhi(u0, (~u2))) >> 16)) + u0)))));
    out[3 * n + t] = (unsigned long long)(unsigned)((((trunc((floor((fmax(d2, (((-1.3933011347177474e16) * d0)))))))) != (trunc(d0)))));
    out[4 * n + t] = (unsigned long long)(unsigned)((((fabsf((sqrtf((__saturatef((__uint2float_rd(52u)))))))) != (half_product((((__rhadd(((i2 / ((i2 & 0xffff) + 1))), (1210943918))) ? (__double2uint_rz((fabs((-8.330371159133885e-29))))) : ((unsigned)(short)((__funnelshift_rc(u2, u1, 176193207u)) >> 16)))), (__usad((__float2uint_rz((__double2float_ru(d1)))), ((((u1 * 26u)) - (((u1 & u0) | (~u1 & 3330938243u))))), u0)))))));
    out[5 * n + t] = (unsigned long long)(unsigned)((((abs((((!((fma((8.311365009850576e22), (-5.5e0), d0)) < (3.573886954235748e24))) >> ((abs((__rhadd(i2, i2)) >> 1)) & 31))) >> 1)) >> ((((((half_product(u1, (__funnelshift_lc(u1, u1, u0)))) * (__fmul_rd((__int2float_rz((55))), ((float)(unsigned char)(u0 >> 16)))))) < f1)) & 31))));
    out[6 * n + t] = (unsigned long long)((((((((((long long)((i1 ^ i2 ^ i2)) * (long long)(__float2int_rn(f0)))) >> ((__double2int_rn(d1)) & 63))) & ((long long)((unsigned long long)(__double_as_longlong(d0)) - (unsigned long long)l0)))) % ((((long long)(((-383372272) % 10))) & 0xffffffffffll) + 1ll))));
    out[7 * n + t] = (unsigned long long)__float_as_uint((__double2float_rz((-1.6233134784864405e21))));
    out[8 * n + t] = (unsigned long long)__float_as_uint(((float)(((min((((((31ll) % ((l0 & 0xffffffffffll) + 1ll))) >> ((__mul24(i2, i1)) & 63))), (__double_as_longlong(d1)))) >> 37))));
    out[9 * n + t] = (unsigned long long)(unsigned)((__hadd((((((((((4294967244u & u0) | (~4294967244u & u2))) < 3250237843u)) ? u2 : u2)) < (__umulhi(((u0 | ((unsigned)(1077647839)))), u2)))), ((((int)(0u - (unsigned)((((long long)((unsigned long long)l0 - (unsigned long long)l1)) < (~l1))))) == (((__clzll((__mul64hi(l2, l0)))) == ((((i0 / ((i0 & 0xffff) + 1))) || ((i0 / 16)))))))))));
    out[10 * n + t] = (unsigned long long)((max(((long long)(__double2ull_ru(d2))), (((((__double2float_rz((floor(d1)))) == (__fadd_rd((fmaf(f0, f2, f0)), ((-f2)))))) ? (((long long)(!((fma((-1.620680139341824e14), d0, d0)) < (__drcp_rn(d0)))) * (long long)i1)) : l1)))));
    out[11 * n + t] = (unsigned long long)__float_as_uint((fmaxf((ceilf(((-(-6.713867e-5f))))), (__fmaf_ru(f2, ((((((int)(unsigned short)u0) / ((((i1 / -(((-36) & 0xfff) + 2))) & 0xffff) + 1))) ? (half_product(((u1 >> (u0 & 31u))), ((u2 >> (u0 & 31u))))) : (ceilf((-3.9600002e1f))))), (__frcp_rn((__fadd_ru((__fadd_rd(f2, (-3.60448e4f))), ((-f2)))))))))));
    out[12 * n + t] = (unsigned long long)__double_as_longlong((__drcp_rn(d0)));
    out[13 * n + t] = (unsigned long long)(unsigned)((__float_as_int(f1)));
    out[14 * n + t] = (unsigned long long)__double_as_longlong((trunc(((-d2)))));
    out[15 * n + t] = (unsigned long long)(unsigned)((__float_as_int(f0)));
    out[16 * n + t] = (unsigned long long)__double_as_longlong(((double)(unsigned char)((((__funnelshift_rc(((unsigned)(unsigned char)(98u >> 8)), (permuted((__umulhi(u2, 4294967269u)), u2, u0)), 84u)) * (((((((unsigned)i0) % (((i0 ? 4294967229u : u0)) | 1u))) >> 11) & 0x1fu)) + (__funnelshift_lc(((((__byte_perm(u1, u1, u2 & 0x7777u)) >> 11) & 0x1fu)), ((unsigned)(short)(((unsigned)(unsigned char)(4294967203u >> 8)) >> 16)), ((unsigned)(short)((__funnelshift_l(80u, u0, u0)) >> 16)))))) >> 8)));
    out[17 * n + t] = (unsigned long long)((((min(((((((77ull ^ w1)) - ((w2 / (w1 | 1ull))))) % (((((w1 / (w1 | 1ull))) * ((unsigned long long)(27ll)))) | 1ull))), (((max(((w2 >> (i0 & 63))), (min(w2, w0)))) % (w0 | 1ull))))) ^ (((unsigned long long)(((__umul24(((u1 << (u2 & 31u))), u2)) / ((__brev((__funnelshift_rc(u1, u1, 1200552775u)))) | 1u))) * (unsigned long long)(((((max(u0, u2)) * ((1675401903u % (u2 | 1u))) + ((u2 >> (6u & 31u))))) | ((((((u2 >> 11) & 0x1fu)) << 9) + (__uhadd(u1, u1)))))) + (max(w1, (((__float2ull_rn(f2)) | w2)))))))));
    out[18 * n + t] = (unsigned long long)__double_as_longlong((floor(((double)(((max(((w0 >> (i2 & 63))), w1)) >> (i2 & 63)))))));
    out[19 * n + t] = (unsigned long long)__double_as_longlong((floor((fmax((((((rint((-1.4544888767238507e24))) * (ceil(d2)))) / (((1.387108685230113e17) - ((d0 > d0 ? d0 : d0)))))), ((double)((long long)((unsigned long long)(__mul64hi(l2, l2)) * (unsigned long long)((l0 >> 37))))))))));
}
