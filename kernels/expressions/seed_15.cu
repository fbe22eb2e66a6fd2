// 20 random expressions of seed 15; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__double_as_longlong((((-3.053113317719181e-17) - (-2.9027106973286402e13))));
    out[1 * n + t] = (unsigned long long)__double_as_longlong(((((double)(unsigned char)((((((u1 >> 11) & 0x1fu)) | ((u0 / 1000u)))) >> 8)) + (-5.385888989184e11))));
    out[2 * n + t] = (unsigned long long)(unsigned)((((__funnelshift_lc((((__usad(u1, (__float_as_uint(f1)), (__funnelshift_lc(u0, u0, 4294967265u)))) / 1000u)), (((__byte_perm((__sad(i1, i1, u2)), (__brev(u2)), (max(u0, 35u)) & 0x7777u)) * ((((u2 * u0)) / 1000u)) + u1)), u2)) - (__float2uint_rn(((i1 ? (__fmul_rd((__fadd_rd(f0, f2)), (truncf(f0)))) : (fabsf(f0)))))))));
    out[3 * n + t] = (unsigned long long)__double_as_longlong((trunc((sqrt(((-(floor(((double)u0))))))))));
    out[4 * n + t] = (unsigned long long)__double_as_longlong((((fmin((((sqrt(((d0 - d2)))) / (fabs((__hiloint2double(i0, i2)))))), (((__hiloint2double(((f1 < f2)), (__hadd(i0, i0)))) > (__drcp_rn((trunc(d1)))) ? (__hiloint2double(((f1 < f2)), (__hadd(i0, i0)))) : (__drcp_rn((trunc(d1)))))))) - (rint((rint(((double)(((48ll) >> 37))))))))));
    out[5 * n + t] = (unsigned long long)__float_as_uint(((((float)(signed char)(__dp4a((__float_as_int(f2)), i0, (__dp4a((((2014724433) || (-92))), ((w1 <= 80ull)), ((w0 > w1))))))) - f0)));
    out[6 * n + t] = (unsigned long long)__double_as_longlong((log((fma((ceil(((((double)w0) * (__hiloint2double(i0, i1)))))), d2, (rint((((fmin(d0, d0)) > (sqrt((-5.102539062500001e-2))) ? (fmin(d0, d0)) : (sqrt((-5.102539062500001e-2))))))))))));
    out[7 * n + t] = (unsigned long long)((__umul64hi((min((((__brevll(w0)) >> (((i1 / 7)) & 63))), (((((__float2ull_rn(f1)) % (((unsigned long long)3803442019u) | 1ull))) * (((unsigned long long)((unsigned)i2) * (unsigned long long)(__sad(i1, i0, u2)) + (max(1054445067139275490ull, w2)))))))), (__umul64hi(((w2 << 13)), ((((((w1 % (w2 | 1ull))) * ((unsigned long long)l0))) % (((unsigned long long)(~u1)) | 1ull))))))));
    out[8 * n + t] = (unsigned long long)(unsigned)((((__dp4a(u0, (~(__usad(4294967267u, (__funnelshift_rc(u0, 77u, u2)), ((u1 / (u0 | 1u)))))), (__dp4a((((__funnelshift_l(u2, u0, u2)) % (((u0 * u0)) | 1u))), (((u0 << 9) + (min(u2, u2)))), (((((u1 * u2)) << 9) + (__uhadd(u0, u1)))))))) * (~(((__double2uint_rz((fmax(d0, d0)))) % 7u))) + (__funnelshift_lc((__float_as_uint(f2)), (__float2uint_rz((__fmul_rd((__double2float_rz(d0)), ((float)(signed char)i0))))), (__funnelshift_lc(((u0 << (u1 & 31u))), 4294967253u, ((unsigned)(__float2int_rn(f0))))))))));
    out[9 * n + t] = (unsigned long long)__double_as_longlong(((double)((int)((unsigned)(__dp4a(i0, (__float2int_rn(f0)), i1)) * (unsigned)((i2 == ((int)((unsigned)((int)(0u - (unsigned)i0)) * (unsigned)i2 + (unsigned)((i1 && i0))))))))));
    out[10 * n + t] = (unsigned long long)((~((long long)i0)));
    out[11 * n + t] = (unsigned long long)(unsigned)((((~(__double2uint_rz((fmax(d1, ((double)(32))))))) / ((__sad((((__brevll((__umul64hi(w1, w0)))) > w2)), (__float2int_ru((half_product((((u2 & 38u) | (~u2 & u0))), u1)))), (__umulhi((__umul24(((unsigned)(unsigned char)(u1 >> 8)), u2)), (__byte_perm(((48340758u % (u1 | 1u))), ((4294967264u / (u0 | 1u))), ((unsigned)(short)(u0 >> 16)) & 0x7777u)))))) | 1u))));
    out[12 * n + t] = (unsigned long long)(unsigned)(((f2 < f1)));
    out[13 * n + t] = (unsigned long long)((llabs((__double2ll_rn(((double)f1))) >> 1)));
    out[14 * n + t] = (unsigned long long)((max((((__double_as_longlong(d1)) / (((__mul64hi(((((long long)w1) >> 37)), (llabs(l2 >> 1)))) & 0xffffffffffll) + 1ll))), (max((((__double2ll_rn(((d0 / d2)))) & ((((long long)w0) % ((l1 & 0xffffffffffll) + 1ll))))), (__double2ll_rn((__longlong_as_double((max((9ll), l2)))))))))));
    out[15 * n + t] = (unsigned long long)(unsigned)((__uhadd((__funnelshift_rc((__brev(u1)), (__funnelshift_lc((__brev(((i1 ? u0 : u2)))), (((__byte_perm(u0, 3925557300u, 654403122u & 0x7777u)) | ((u2 >> (u1 & 31u))))), ((((i1 / ((i2 & 0xffff) + 1))) ? (__dp4a(u1, 93u, u1)) : (__funnelshift_lc(465629093u, u1, u2)))))), ((((((int)((unsigned)i2 << ((1150521440) & 31))) ? (max(u1, u2)) : (((4294967271u << 9) + u2)))) | ((unsigned)(unsigned char)((__float2uint_rz(f0)) >> 8)))))), (((permuted(((((u0 >= u0)) ? (__funnelshift_lc(u1, u0, u0)) : (((u1 & 2025680282u) | (~u1 & u0))))), u0, ((unsigned)((i2 / -3))))) / 1000u)))));
    out[16 * n + t] = (unsigned long long)__double_as_longlong((fmax(((-((double)(-250958376)))), ((double)(unsigned char)(38u >> 8)))));
    out[17 * n + t] = (unsigned long long)(unsigned)((((fma((fma(((double)(__funnelshift_rc(u1, u2, u1))), ((d0 + ((double)f1))), ((double)((float)l0)))), ((double)((((w0 / (w0 | 1ull))) * (((unsigned long long)u1 * (unsigned long long)937987433u + w2))))), d1)) > (fma(((double)(__float2uint_rn((floorf(f1))))), (trunc((trunc((__hiloint2double(i0, (1646693358))))))), (__longlong_as_double((min((__double_as_longlong(d0)), ((long long)((unsigned long long)l1 + (unsigned long long)l2)))))))))));
    out[18 * n + t] = (unsigned long long)(((unsigned long long)(((__sad(i0, (((__double2hiint(d2)) / 16)), (((__umulhi(u2, 13u)) / ((__double2uint_rz(d0)) | 1u))))) - (((__float2uint_rn((fmaxf(f0, (-6.2942505e-5f))))) - (permuted(u1, ((unsigned)(unsigned char)(u1 >> 8)), (__umulhi(4294967200u, 2132613103u))))))))));
    out[19 * n + t] = (unsigned long long)(unsigned)((((((__mul24(i1, ((((i1 < i0)) / (((-33) & 0xffff) + 1))))) && ((int)((unsigned)(__mul24(((int)((unsigned)i0 * (unsigned)(563385260))), ((int)(short)i2))) + (unsigned)((i1 >> ((98) & 31))))))) >> (((i1 % 10)) & 31))));
}
