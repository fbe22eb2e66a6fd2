// 20 random expressions of seed 20; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)(unsigned)(((int)(__double2ll_rn((fmin((__longlong_as_double((((90ll) >> (i0 & 63))))), (((rint(d2)) > d2 ? (rint(d2)) : d2))))))));
    out[1 * n + t] = (unsigned long long)__double_as_longlong((sin(((d2 + (trunc((__longlong_as_double(((long long)2530726298u))))))))));
    out[2 * n + t] = (unsigned long long)((__double2ll_rz((__hiloint2double(((int)(~(min(l1, (-7611940836410680835ll))))), (!((((f2 != f0)) < (__mulhi(i2, i2))))))))));
    out[3 * n + t] = (unsigned long long)__double_as_longlong(((double)(((__brevll((((__brevll(w2)) | ((unsigned long long)39u))))) << 13))));
    out[4 * n + t] = (unsigned long long)((__float2ull_rn(((float)(__float_as_uint(f1))))));
    out[5 * n + t] = (unsigned long long)(unsigned)((((fmax(d2, ((double)(unsigned char)((__usad(3251684512u, u0, (((u2 & u2) | (~u2 & u1))))) >> 8)))) >= (((11) ? (ceil((__longlong_as_double(((l2 >> 37)))))) : d1)))));
    out[6 * n + t] = (unsigned long long)(unsigned)(((((int)((unsigned)(((llabs(((long long)((unsigned long long)l2 - (unsigned long long)l0)) >> 1)) != (((__float2ll_rz(f1)) >> 37)))) * (unsigned)i0 + (unsigned)((i0 ^ ((int)(unsigned char)(__ffs(i2))))))) ? (__float_as_int(f0)) : (__mul24(((int)((unsigned)(__float2int_rd(((float)i2))) - (unsigned)((i1 || ((i1 >> ((-16) & 31))))))), (abs(((int)1794499271u) >> 1)))))));
    out[7 * n + t] = (unsigned long long)((((__float2ull_rn(f0)) - w1)));
    out[8 * n + t] = (unsigned long long)((__brevll((((__float2ull_rn(f2)) + (((unsigned long long)u1 * (unsigned long long)(((__float2uint_rn(f0)) << (((4294967288u << (u2 & 31u))) & 31u))) + ((((w1 ^ w0)) + (((unsigned long long)u1 * (unsigned long long)3391331238u + w2)))))))))));
    out[9 * n + t] = (unsigned long long)__float_as_uint(((float)(short)(__double2hiint(d1))));
    out[10 * n + t] = (unsigned long long)((((long long)(__float_as_int(f1)) * (long long)(__dp4a(((int)(((u0 << 9) + ((unsigned)(unsigned char)(4294967233u >> 8))))), ((((long long)i1) != ((((long long)((unsigned long long)l0 * (unsigned long long)l2)) / (((((99ll) / 1000000007ll)) & 0xffffffffffll) + 1ll))))), ((((float)(signed char)i0) <= (__double2float_rz(d0)))))))));
    out[11 * n + t] = (unsigned long long)(((w2 - w0)));
    out[12 * n + t] = (unsigned long long)(unsigned)((__uhadd((((__umulhi(((((__usad(u1, 4294967244u, u2)) << 9) + ((u0 + u0)))), ((((u1 / (u2 | 1u))) | (~u2))))) % (((u2 << ((__umul24(((4294967274u - u1)), (((u0 & u2) | (~u0 & u2))))) & 31u))) | 1u))), (__brev((((__funnelshift_rc(2252807454u, ((u2 << (u0 & 31u))), (permuted(u1, u0, u2)))) * (((((26u + u2)) << 9) + ((u1 - u2)))) + (__byte_perm(((u1 / 1000u)), (__funnelshift_r(u2, u1, u0)), 4294967276u & 0x7777u)))))))));
    out[13 * n + t] = (unsigned long long)(unsigned)((__funnelshift_rc((((~(__umulhi((__float2uint_rz(f0)), (__sad(i0, i0, u1))))) - ((((((u2 * 30u + u1)) << (((u0 / (u0 | 1u))) & 31u))) % (u1 | 1u))))), (((__dp4a(u2, (__funnelshift_r(((u0 * 3081667288u + u2)), u2, (~u1))), (__funnelshift_rc(((u2 - u1)), ((unsigned)(unsigned char)(u2 >> 8)), u2)))) / ((((((((i2 ? u0 : u1)) << 9) + (((u1 >> 11) & 0x1fu)))) / (((unsigned)(unsigned char)(u1 >> 8)) | 1u))) | 1u))), (permuted(u1, 4294967206u, (__sad(((i0 ? (((20) && i1)) : (min((-95), i0)))), (__float2int_rd(((-(-1.65e1f))))), 78u)))))));
    out[14 * n + t] = (unsigned long long)(unsigned)((((__umul24(u1, (__umul24((((u0 >> 11) & 0x1fu)), (__byte_perm(u0, ((unsigned)(unsigned char)(u2 >> 8)), ((u2 / 1000u)) & 0x7777u)))))) - (__float2uint_rz((fmaf(-(__fmaf_rz(((float)(unsigned char)(u1 >> 16)), ((float)i1), (__double2float_rd(d0)))), (rintf(((float)u2))), fabsf(((float)(signed char)((43u < u2)))))))))));
    out[15 * n + t] = (unsigned long long)((__double_as_longlong(d1)));
    out[16 * n + t] = (unsigned long long)(unsigned)((permuted((__dp4a(2233194881u, (((__brev(((unsigned)(unsigned char)(u0 >> 8)))) | (__uhadd((__usad(2465021248u, u1, u1)), u2)))), (__float_as_uint(f2)))), 1240865163u, (__funnelshift_rc((((u0 >> 11) & 0x1fu)), (__funnelshift_l((((__double2uint_rz(d2)) << (((u1 >> (44u & 31u))) & 31u))), u2, ((((i0 / -3)) ? ((i1 ? u2 : u2)) : (~91u))))), ((u2 % 7u)))))));
    out[17 * n + t] = (unsigned long long)__float_as_uint((__fmaf_ru(((float)w1), (__double2float_ru((rint(((double)(unsigned char)(((unsigned)(18446744073709551588ull >> 32)) >> 8)))))), (__fmaf_rz((__fmul_ru(f0, (__int2float_ru(((d2 > d1)))))), (((__fadd_ru((__double2float_ru(d1)), f1)) + (sqrtf((__double2float_rd((-1.3246948772384999e31))))))), (float_of_half((__uhadd((__float2uint_rz(f1)), ((4294967233u >> (u1 & 31u))))))))))));
    out[18 * n + t] = (unsigned long long)((__mul64hi((((long long)(716541098) * (long long)(((((fmax(d2, (3.573886954235748e24))) - d0)) > ((double)(unsigned char)((__uhadd(u0, 17u)) >> 8)))))), ((((l2 >> (i0 & 63))) / ((((i2 ? l1 : l1)) & 0xffffffffffll) + 1ll))))));
    out[19 * n + t] = (unsigned long long)(unsigned)((__byte_perm(((((__usad(((unsigned)(short)((permuted(u1, u2, u2)) >> 16)), u0, ((u0 >> ((__float2uint_rn(f0)) & 31u))))) & (__funnelshift_l((__dp4a(3629244655u, (__funnelshift_l(u2, u0, 64u)), (min(u2, u1)))), (__float2uint_rz(f0)), (__byte_perm(u2, (__sad(i1, i2, u0)), u1 & 0x7777u))))) | (~(__usad(((unsigned)(short)((permuted(u1, u2, u2)) >> 16)), u0, ((u0 >> ((__float2uint_rn(f0)) & 31u))))) & (__dp4a((__funnelshift_l(u0, ((unsigned)(unsigned char)(u2 >> 8)), ((u2 - u2)))), (__umul24((__uhadd(u1, 31u)), u2)), (__float2uint_rz((fmaxf(f1, f2))))))))), (__funnelshift_lc((permuted(u0, ((((unsigned)(unsigned char)(12u >> 8)) << (((u0 % (u2 | 1u))) & 31u))), (__usad(((unsigned)(short)(u1 >> 16)), (__sad(i2, (11), u0)), 71u)))), (((((__funnelshift_lc(u0, u1, u0)) % (((unsigned)(-1504356454)) | 1u))) / 1000u)), (__umulhi((__funnelshift_l((max(u1, 4294967270u)), ((unsigned)(short)(u0 >> 16)), (__funnelshift_lc(u0, u1, u0)))), ((unsigned)(short)(((u1 / 1000u)) >> 16)))))), (__usad(((unsigned)((__umul64hi(((w2 << (i2 & 63))), w1)) >> 32)), u1, ((((__float2uint_rz(((float)(unsigned char)(u0 >> 16)))) >> 11) & 0x1fu)))) & 0x7777u)));
}
