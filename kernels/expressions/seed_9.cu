// 20 random expressions of seed 9; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__float_as_uint((fmaf(-((float)(short)i1), (__fadd_rz((__frcp_rn(f2)), ((float)(((((1ll) / 1000000007ll)) % ((l1 & 0xffffffffffll) + 1ll)))))), fabsf((truncf(f0))))));
    out[1 * n + t] = (unsigned long long)__float_as_uint((__fmaf_rz(f1, (__fadd_rd((((__int_as_float(((w2 > w1)))) * (__fmul_ru(((float)d1), ((float)(unsigned char)(u2 >> 16)))) + (fabsf(f2)))), (__fmaf_rz((rintf(f0)), ((float)(__double2ull_ru((-1.2293457984924317e-8)))), (rintf(f2)))))), ((float)(short)((((f1 != (__double2float_ru((5.692420292074821e-28))))) || ((f0 < f0))))))));
    out[2 * n + t] = (unsigned long long)(((w0 << 13)));
    out[3 * n + t] = (unsigned long long)__double_as_longlong((ceil(((-(__longlong_as_double(((((l0 / ((l1 & 0xffffffffffll) + 1ll))) & ((long long)((unsigned long long)l2 * (unsigned long long)l2)))))))))));
    out[4 * n + t] = (unsigned long long)((((__umul64hi(((((62ull << ((min(i1, (-22))) & 63))) % (((31ull ^ ((w0 << 13)))) | 1ull))), w0)) % ((__double2ull_ru(((double)(((-840071606) ^ i1 ^ ((w1 <= w1))))))) | 1ull))));
    out[5 * n + t] = (unsigned long long)(unsigned)((__funnelshift_lc((((((1213185226u << 9) + u0)) - ((((((u2 % 7u)) % (((u0 * 81u)) | 1u))) >> ((__funnelshift_l((((1798888754u & u2) | (~1798888754u & u1))), 81u, ((u2 >> (u1 & 31u))))) & 31u))))), ((u1 << ((__byte_perm(((i0 ? (__funnelshift_l(u2, 3963241111u, u1)) : 731924811u)), (min((__double2uint_rz((1.15456e4))), (((u0 << 9) + 4193738579u)))), (__funnelshift_lc((__brev(u2)), ((unsigned)(short)(4025982814u >> 16)), (__byte_perm(u2, u1, 4294967250u & 0x7777u)))) & 0x7777u)) & 31u))), (((__float2uint_rn((fmodf((fmodf((-2.7045607e-7f), f1)), (fminf((1.475215e-6f), (-1.1959076e-4f))))))) % 7u)))));
    out[6 * n + t] = (unsigned long long)((((min((__brevll(((((w0 | w0)) + ((7348711959606346472ull + 17389724800412567457ull)))))), w0)) % (w2 | 1ull))));
    out[7 * n + t] = (unsigned long long)__double_as_longlong((fabs((fmax(((double)((float)(unsigned short)(((i1 ? u2 : u0)) >> 16))), (__longlong_as_double((__double2ll_rz(d1)))))))));
    out[8 * n + t] = (unsigned long long)__double_as_longlong(((double)(((66u << 9) + 4294967268u))));
    out[9 * n + t] = (unsigned long long)(unsigned)((__dp4a(u2, (__byte_perm(2u, (permuted((max((((4294967204u & 3435007685u) | (~4294967204u & u1))), (((u2 << 9) + u1)))), ((4294967233u >> ((permuted(u2, 95u, u2)) & 31u))), (__funnelshift_l((min(u0, u0)), u2, (__umulhi(4294967259u, u2)))))), (((permuted((__funnelshift_r(4294967282u, u0, u0)), (~u0), ((u2 >> (u0 & 31u))))) / 1000u)) & 0x7777u)), (((__brev((__double2uint_rz((__hiloint2double(i0, (333244641))))))) | (__byte_perm((__funnelshift_rc(u0, (__funnelshift_r(u2, u0, u1)), (((u1 >> 11) & 0x1fu)))), (((__sad(i2, i1, u1)) * (min(4294967292u, u2)))), ((4294967228u * (permuted(u0, u1, u2)) + u2)) & 0x7777u)))))));
    out[10 * n + t] = (unsigned long long)(((w0 + (((__rhadd((((__dp4a(i1, i0, i0)) >> ((__rhadd(i0, i1)) & 31))), (((__double2hiint(d0)) || ((i1 ^ i0 ^ (-99))))))) ? (__brevll(((7257010637843911479ull << (((i2 || i2)) & 63))))) : ((i0 ? w2 : ((((w0 ^ w2)) / (w1 | 1ull))))))))));
    out[11 * n + t] = (unsigned long long)(unsigned)(((int)(signed char)(__double2int_rd((((__drcp_rn((sqrt(d0)))) + d2))))));
    out[12 * n + t] = (unsigned long long)((__umul64hi(((w2 % ((__umul64hi(((unsigned long long)(__dp4a(u0, u1, u0))), ((((w2 - w2)) * 23ull)))) | 1ull))), (((__brevll(w0)) % (((unsigned long long)(__float2uint_rz(f2))) | 1ull))))));
    out[13 * n + t] = (unsigned long long)__float_as_uint((__frsqrt_rn((__fmaf_ru(f1, (((__float2int_ru((__frcp_rn(f1)))) ? (__double2float_rd(((-d2)))) : (half_of(f1)))), f2)))));
    out[14 * n + t] = (unsigned long long)(unsigned)((__byte_perm((__double2uint_rz((((__double2int_rn((-4.210865651591414e16))) ? (fmax((-1.1246001064830745e-27), ((double)l0))) : (__longlong_as_double((((7037973970802193250ll) / ((l2 & 0xffffffffffll) + 1ll))))))))), (((!((fmaf(-((f1 * f0 + f1)), f2, fabsf(((f0 - f2))))) >= (-1.6941056e6f))) ? 36u : (__float2uint_rn((half_sum(((unsigned)i1), (__float2uint_rn((1.18272e4f))))))))), ((unsigned)(short)((__float2uint_rn(((-((-f2)))))) >> 16)) & 0x7777u)));
    out[15 * n + t] = (unsigned long long)(unsigned)(((((int)((unsigned)(((((((39) & i2)) & i0)) && (((((-54ll) & (-76ll))) != ((long long)u2))))) * (unsigned)(!((__hiloint2double(((d1 != d2)), ((d2 != d2)))) < (trunc((rint((1.628e2))))))))) && (__clzll((max((-45ll), (llabs((__mul64hi(l0, l1)) >> 1)))))))));
    out[16 * n + t] = (unsigned long long)__double_as_longlong(((double)(unsigned char)(((((((u1 * u1)) % (89u | 1u))) << ((((__float2int_ru((__fmul_rd((2.0980835e-5f), f0)))) ? 4294967223u : (((__funnelshift_l(u2, u0, u0)) / ((__double2uint_rz(d0)) | 1u))))) & 31u))) >> 8)));
    out[17 * n + t] = (unsigned long long)(unsigned)((__float2uint_rz(f2)));
    out[18 * n + t] = (unsigned long long)(((unsigned long long)(((__umulhi(((((u1 | u0)) - (__umul24(u0, u2)))), ((((u2 + u0)) * ((4294967283u / 1000u)))))) / 1000u))));
    out[19 * n + t] = (unsigned long long)((__double2ll_rz((__longlong_as_double((-38ll))))));
}
