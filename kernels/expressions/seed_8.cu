// 20 random expressions of seed 8; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__float_as_uint((cbrtf((((ceilf(((float)(signed char)(-401720730)))) * (sqrtf((fmaf(-f0, ((float)(short)(9)), fabsf((__int2float_ru((27)))))))) + (fmaxf(((float)i1), ((-(__double2float_rz(d2)))))))))));
    out[1 * n + t] = (unsigned long long)(unsigned)(((int)((unsigned)((i0 || ((((double)((float)u1)) > d2)))) * (unsigned)((i1 || ((((((unsigned long long)l1) <= w0)) / ((i1 & 0xffff) + 1))))))));
    out[2 * n + t] = (unsigned long long)__double_as_longlong((__drcp_rn(((-d0)))));
    out[3 * n + t] = (unsigned long long)((((unsigned long long)u0 * (unsigned long long)(((__umul24(((((u2 >= u0)) ? (((4294967242u << 9) + 8u)) : (__funnelshift_rc(u1, u0, u1)))), u2)) % 7u)) + w1)));
    out[4 * n + t] = (unsigned long long)((((((((((__popc(u2)) ? ((w2 >> (i2 & 63))) : w2)) ^ (max(6059502408610476360ull, ((w2 ^ w1)))))) / (w2 | 1ull))) + (((__umul64hi((min(w2, (__brevll(w0)))), w2)) ^ ((((((w2 ^ 2888481753690734036ull)) - (((-1100202601) ? w2 : w1)))) | ((((w1 << 13)) % (((w0 / (18446744073709551607ull | 1ull))) | 1ull))))))))));
    out[5 * n + t] = (unsigned long long)(unsigned)((__sad(i1, i1, (~((((((((u1 << 9) + u1)) << 9) + (__double2uint_rz(d0)))) * (((((1742947714u >> 11) & 0x1fu)) << ((__funnelshift_lc(u1, u2, u0)) & 31u))) + (((__usad(u2, u2, 4294967198u)) - (__uhadd(u0, u2))))))))));
    out[6 * n + t] = (unsigned long long)(unsigned)((min(((((__double2uint_rz(((((-d2)) > (ceil(d2)) ? ((-d2)) : (ceil(d2)))))) << 9) + (__umulhi(u1, (~(__funnelshift_r(u0, u1, u2))))))), u2)));
    out[7 * n + t] = (unsigned long long)__float_as_uint((((((rintf((-1.76e1f))) - (__fadd_ru((fmaf(f0, (__fadd_ru(f2, f0)), f2)), (__double2float_rd((rint(d2)))))))) * 2.0f)));
    out[8 * n + t] = (unsigned long long)(unsigned)((((__float_as_int(f2)) ? (!(__double2hiint(d1))) : (__popcll(w1)))));
    out[9 * n + t] = (unsigned long long)((__brevll(((((unsigned long long)(__float2uint_rz(((f2 * 2.0f))))) << 13)))));
    out[10 * n + t] = (unsigned long long)(unsigned)(((int)(signed char)(__double2int_rn((fma(d1, (__drcp_rn(((double)u1))), ((double)(__double2ll_rz((8.59375e-2))))))))));
    out[11 * n + t] = (unsigned long long)__double_as_longlong((((__drcp_rn(((double)((((long long)w0) / (((46ll) & 0xffffffffffll) + 1ll)))))) - (sqrt((floor((__longlong_as_double((__double2ll_rz(d2)))))))))));
    out[12 * n + t] = (unsigned long long)__double_as_longlong((fma(d2, ((double)l0), (__hiloint2double(((int)(0u - (unsigned)i0)), (49))))));
    out[13 * n + t] = (unsigned long long)(((((l2 / 1000000007ll)) >> ((((((fabsf((__uint2float_rd(u1)))) <= f1)) && ((((((l0 % ((l0 & 0xffffffffffll) + 1ll))) >> ((!(f2 >= f2)) & 63))) < (~(__double_as_longlong(d2))))))) & 63))));
    out[14 * n + t] = (unsigned long long)(((long long)((unsigned long long)(-3015285851089145463ll) * (unsigned long long)((((long long)(__funnelshift_l(((u2 + u0)), (((u2 >> 11) & 0x1fu)), (__uhadd(u0, u1))))) / ((l2 & 0xffffffffffll) + 1ll))))));
    out[15 * n + t] = (unsigned long long)(unsigned)((((__funnelshift_r((__funnelshift_rc(2u, (__float2uint_rz((__double2float_rd(d0)))), ((((u0 % 7u)) | (__float2uint_rz(f0)))))), (__uhadd(((unsigned)i0), u1)), (((((__umulhi(84u, u1)) | (~u0))) / ((((__umulhi(u2, u1)) * (~4294967293u) + (~197485954u))) | 1u))))) >> ((__double2uint_rz((sqrt((((-73) ? d0 : (ceil((2.475e0))))))))) & 31u))));
    out[16 * n + t] = (unsigned long long)__double_as_longlong(((double)(((((__dp4a(((int)((unsigned)i2 - (unsigned)i2)), ((int)((unsigned)i0 * (unsigned)i2 + (unsigned)i0)), ((l2 < l0)))) % 10)) & (((((min(w1, w0)) | w2)) <= (((unsigned long long)((u0 | u2)) * (unsigned long long)(__usad(u2, u1, 3770839535u)) + w1))))))));
    out[17 * n + t] = (unsigned long long)__float_as_uint(((-(half_sum(((unsigned)(short)(((((~4u) & (__float2uint_rz((-1.7301504e7f)))) | (~(~4u) & ((u2 / (u1 | 1u)))))) >> 16)), (__sad(((((l0 < (-76ll))) >> ((((-50) / -3)) & 31))), ((int)(signed char)((i1 >> 5))), ((i0 ? (__byte_perm(u0, u0, u1 & 0x7777u)) : (max(u0, u0)))))))))));
    out[18 * n + t] = (unsigned long long)(unsigned)((__clz(((int)((unsigned)(((((__fmaf_rd(f2, f2, f0)) < f2)) && (__float_as_int(f0)))) * (unsigned)(__ffsll(l2)) + (unsigned)((((double)(unsigned char)((__funnelshift_l(u2, u0, u0)) >> 8)) != (floor((fmax(d2, (1.5149291230754842e28))))))))))));
    out[19 * n + t] = (unsigned long long)((min((((max((((((unsigned long long)u0 * (unsigned long long)1730161025u + w2)) << 13)), w0)) - (((max(w1, ((w0 << (i1 & 63))))) << 13)))), ((((unsigned long long)((((u1 - 4294967222u)) / (((u1 * u1 + u2)) | 1u)))) << ((__float2int_rn(((float)(short)((i1 / 16))))) & 63))))));
}
