// 20 random expressions of seed 2; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__float_as_uint((__fmul_rd((__double2float_rd(((((-((double)(816078323)))) * d0)))), (__fadd_rd((rintf(f1)), (half_sum((__funnelshift_r((__funnelshift_r(u2, u1, u0)), u0, (__dp4a(4294967235u, 583612830u, u2)))), u0)))))));
    out[1 * n + t] = (unsigned long long)(((w2 ^ w1)));
    out[2 * n + t] = (unsigned long long)__float_as_uint((rintf((__frcp_rn((__fmaf_rd((__int2float_ru((__popcll(w2)))), (floorf((sqrtf(f2)))), (__fadd_ru((sqrtf(f2)), ((float)(unsigned char)(u1 >> 16)))))))))));
    out[3 * n + t] = (unsigned long long)__float_as_uint((__fadd_rz(f2, (__fmaf_rd((((__popcll(44ull)) ? (ceilf((half_product(u2, 2404893648u)))) : (rintf(f1)))), f2, (1.8454938e8f))))));
    out[4 * n + t] = (unsigned long long)((__brevll(w2)));
    out[5 * n + t] = (unsigned long long)((min(((w0 / ((max(w0, (((__double2ull_ru(d1)) * ((w2 - w2)))))) | 1ull))), ((unsigned long long)u0))));
    out[6 * n + t] = (unsigned long long)(unsigned)((!((__frcp_rn(((float)(unsigned char)(((((unsigned)i2) | ((unsigned)(short)(u1 >> 16)))) >> 16)))) >= (__uint2float_rd((__double2uint_rz(((double)(unsigned char)(((u2 + u0)) >> 8)))))))));
    out[7 * n + t] = (unsigned long long)(((((((((long long)((unsigned long long)((long long)((unsigned long long)l0 + (unsigned long long)l2)) - (unsigned long long)((long long)i1))) < ((((long long)((unsigned long long)(-3894858869876935972ll) - (unsigned long long)(7134216115487677018ll))) >> 17)))) ? (__double2ull_ru((__hiloint2double(((i2 & i1)), (!(38)))))) : ((((((w0 - w0)) << 13)) << 13)))) - (__brevll(((i0 ? (__umul64hi(((w0 / (w0 | 1ull))), 8035345327283369530ull)) : (__brevll((__double2ull_ru(d1)))))))))));
    out[8 * n + t] = (unsigned long long)((__brevll((__umul64hi(((unsigned long long)(min(((l2 / (((-99ll) & 0xffffffffffll) + 1ll))), ((l0 / 1000000007ll))))), ((((((w2 >> (i1 & 63))) / (((w0 >> (i0 & 63))) | 1ull))) * (__brevll((__float2ull_rn(f1)))))))))));
    out[9 * n + t] = (unsigned long long)(unsigned)((!i1));
    out[10 * n + t] = (unsigned long long)((__double2ll_rz((((floor((sqrt((__hiloint2double(i2, i0)))))) > ((double)((long long)(__byte_perm(u1, u2, u1 & 0x7777u)))) ? (floor((sqrt((__hiloint2double(i2, i0)))))) : ((double)((long long)(__byte_perm(u1, u2, u1 & 0x7777u)))))))));
    out[11 * n + t] = (unsigned long long)(unsigned)(((int)((unsigned)((((((f1 * ((float)u2))) < f2 ? ((f1 * ((float)u2))) : f2)) < (half_of((__fmul_ru((__saturatef(f1 * f2)), (sqrtf(f0)))))))) + (unsigned)(__float_as_int(f2)))));
    out[12 * n + t] = (unsigned long long)(unsigned)((((__mul24(((int)(0u - (unsigned)(__clz(((f1 <= f0)))))) >> 12, (((__drcp_rn((sqrt(d2)))) != ((double)i2))) >> 20)) <= (min(i1, ((((int)(short)((f2 <= f2))) % 10)))))));
    out[13 * n + t] = (unsigned long long)__float_as_uint(((((float)(__float2ll_rz(f0))) * (fminf((__int_as_float(((int)((unsigned)((int)u2) * (unsigned)((int)(0u - (unsigned)i2)))))), (half_of((truncf((half_sum(u1, u2)))))))))));
    out[14 * n + t] = (unsigned long long)(((l2 >> (((w2 <= ((39ull / (((unsigned long long)(~u0)) | 1ull))))) & 63))));
    out[15 * n + t] = (unsigned long long)(unsigned)((~(permuted((__double2uint_rz(((((d1 + d0)) - (ceil(d1)))))), (__float2uint_rn(((float)((i2 ? 62ull : w2))))), (__dp4a(((unsigned)(__float2int_rd(f0))), (__funnelshift_lc(((u2 % (u1 | 1u))), (__umulhi(u1, 1469794727u)), (__umul24(u2, u2)))), (((__funnelshift_r(u0, u2, u1)) - ((678177468u | u0))))))))));
    out[16 * n + t] = (unsigned long long)(unsigned)((__float2uint_rz((__fmaf_ru((float_of_half(u0)), ((float)(__umul64hi(((unsigned long long)u2), w0))), ((float)(unsigned char)(u1 >> 16)))))));
    out[17 * n + t] = (unsigned long long)(unsigned)((__funnelshift_r(((((((((-80) == i1)) ? ((i0 ? ((u2 / (31u | 1u))) : (__funnelshift_l(u0, 28u, u0)))) : (__float2uint_rz((__fmaf_rz(f1, (2.096875e0f), f0)))))) & (__brev((__funnelshift_rc((((u0 >> 11) & 0x1fu)), (__float2uint_rz(f1)), (__float_as_uint(f2))))))) | (~(((((-80) == i1)) ? ((i0 ? ((u2 / (31u | 1u))) : (__funnelshift_l(u0, 28u, u0)))) : (__float2uint_rz((__fmaf_rz(f1, (2.096875e0f), f0)))))) & (((((__funnelshift_lc(u2, u0, 10u)) | (permuted(u1, 4u, u1)))) | (((~2115509681u) + (max(u0, u1))))))))), (((__brev((__byte_perm((__funnelshift_l(u1, u2, u2)), ((unsigned)(w0 >> 32)), ((u1 * 3776859975u)) & 0x7777u)))) % 7u)), u1)));
    out[18 * n + t] = (unsigned long long)__float_as_uint((fmaxf((__fadd_ru((__saturatef((__int2float_ru(((int)((unsigned)(1067571118) + (unsigned)i0)))) * (-1.1894784e6f))), ((-((float)(ceil(d2))))))), (half_product((__float_as_uint(f2)), u0)))));
    out[19 * n + t] = (unsigned long long)(unsigned)((__umul24((permuted((((((((int)((unsigned)i2 << ((93) & 31))) ? ((4294967223u << (u0 & 31u))) : ((u1 >> (29u & 31u))))) << 9) + ((((u2 + u2)) % 7u)))), (((1534819640u & ((unsigned)((int)((unsigned)i2 * (unsigned)i1)))) | (~1534819640u & (__funnelshift_lc(((i0 ? u0 : 1639992185u)), (__float2uint_rn(f0)), ((unsigned)(8704399392144667473ull >> 32))))))), (((min(((u0 | u1)), ((u2 | 3259531092u)))) * ((u2 % (((u2 * u2)) | 1u))))))), ((unsigned)(short)((__float2uint_rz((rintf((__double2float_ru(d2)))))) >> 16)))));
}
