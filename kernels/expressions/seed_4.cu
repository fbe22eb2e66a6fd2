// 20 random expressions of seed 4; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__float_as_uint((__saturatef((__fmaf_rz(((float)(((__brevll(64ull)) | ((w2 % (w1 | 1ull)))))), (fmaf(-(__fadd_rz((fmaf(-f0, f0, fabsf((2.8875e0f)))), (__fmaf_rz(f0, f1, f0)))), (__double2float_rd((floor((1.3130829756846652e-12))))), fabsf((((-2.4492188e-1f) / (__fmaf_rd(f2, f2, f0))))))), ((((float)(short)(max(i2, i2))) * (((__int_as_float(i1)) + ((float)(signed char)i2))))))))));
    out[1 * n + t] = (unsigned long long)__float_as_uint((__fadd_rz((__saturatef((((half_product((__funnelshift_lc(u0, 15u, u1)), ((u0 + 23u)))) * (__fmul_ru((fmodf(f1, f0)), ((float)(1731518588)))))))), (half_product((__float2uint_rn(f0)), (((__funnelshift_rc(((unsigned)(unsigned char)(u1 >> 8)), ((u1 / (812765474u | 1u))), ((4294967291u << (u1 & 31u))))) | u1)))))));
    out[2 * n + t] = (unsigned long long)(unsigned)((__popc((__dp4a((((__brev((__funnelshift_r(u1, u0, u2)))) / ((__double2uint_rz((fma(d2, d0, d0)))) | 1u))), (__double2uint_rz((((fmax(d2, d1)) * (__drcp_rn(d2)))))), (__float2uint_rn(((f0 < (-1.9937501e0f) ? f0 : (-1.9937501e0f))))))))));
    out[3 * n + t] = (unsigned long long)__double_as_longlong((__longlong_as_double(l2)));
    out[4 * n + t] = (unsigned long long)((~(((__double_as_longlong(d0)) % (((min(l2, l1)) & 0xffffffffffll) + 1ll)))));
    out[5 * n + t] = (unsigned long long)__double_as_longlong((sqrt(((-((double)(__fmul_ru((__saturatef((-6.6589564e-8f) * f1)), (__double2float_rd(d0))))))))));
    out[6 * n + t] = (unsigned long long)(unsigned)((((__float2uint_rz(f0)) * ((((((u1 / 1000u)) | (((((59u & u1) | (~59u & u0))) % (((u0 / (u1 | 1u))) | 1u))))) << (u0 & 31u))) + (((u0 >> 11) & 0x1fu)))));
    out[7 * n + t] = (unsigned long long)__double_as_longlong(((double)w1));
    out[8 * n + t] = (unsigned long long)__double_as_longlong(((((double)18446744073709551553ull) * d1)));
    out[9 * n + t] = (unsigned long long)__float_as_uint((__saturatef((((fmaf(((float)((i0 / 7))), (((__double2float_ru(d0)) - f2)), f2)) - ((float)((l2 != (__double2ll_rz((2.5768614785587485e-26)))))))))));
    out[10 * n + t] = (unsigned long long)(unsigned)((__float_as_uint(f1)));
    out[11 * n + t] = (unsigned long long)(((15ull | (((((((__float2ull_rn((4.125e0f))) * ((w0 << (i0 & 63))))) - w2)) | ((((208581682920383611ull << 13)) ^ ((75ull - w2)))))))));
    out[12 * n + t] = (unsigned long long)(unsigned)(((((3683260404u >= (((196452020u >> 11) & 0x1fu)))) ? (((((((((u2 + 717147685u)) / ((max(u0, u1)) | 1u))) << 9) + ((u1 % (u2 | 1u))))) % ((((__float2uint_rn((-4.928e3f))) - (__byte_perm((~u1), (max(4294967200u, u1)), (__float_as_uint(f1)) & 0x7777u)))) | 1u))) : (__funnelshift_lc((((u0 << 9) + ((u1 * ((unsigned)(unsigned char)(u0 >> 8)) + ((u2 | u1)))))), (__uhadd((__funnelshift_r((__funnelshift_r(u1, 96u, u1)), ((u0 % (877817164u | 1u))), ((unsigned)(w2 >> 32)))), (__usad(((u1 / 1000u)), (((1908221846u & 4294967210u) | (~1908221846u & u0))), ((u2 * u2 + u2)))))), ((((((__funnelshift_rc(u2, u2, u1)) * ((u1 + u2)))) << 9) + (__usad((__sad(i1, i2, 4294967288u)), (((u1 << 9) + u0)), 4294967281u)))))))));
    out[13 * n + t] = (unsigned long long)(unsigned)(((((((((__usad(1127382202u, (__sad(i2, (-83), u2)), (__umul24(u2, u0)))) >> 11) & 0x1fu)) % ((((((((unsigned)(unsigned char)(u0 >> 8)) & (__funnelshift_l(u0, u0, u1))) | (~((unsigned)(unsigned char)(u0 >> 8)) & (permuted(u2, u1, 4294967291u))))) % ((__usad(((u1 - u2)), u0, (__funnelshift_r(u0, u2, u1)))) | 1u))) | 1u))) | (__sad((((28) == (970295133))), ((((i2 ^ ((i1 && i2)))) / 16)), u2)))));
    out[14 * n + t] = (unsigned long long)__float_as_uint((__fmul_rz(f0, (fminf(((((((i0 == i0)) <= ((d2 != d1)))) ? f2 : (__saturatef(((float)(unsigned short)(u1 >> 16)) * (fmodf(f2, f1)))))), (__saturatef((__double2float_rd((ceil(d2)))))))))));
    out[15 * n + t] = (unsigned long long)(((long long)((unsigned long long)(((__double2ll_rn((trunc(((d0 - d0)))))) / 1000000007ll)) + (unsigned long long)((long long)((unsigned long long)((long long)((((w2 << 13)) | (((unsigned long long)u2 * (unsigned long long)u0 + w0))))) * (unsigned long long)(-6766546356017261058ll))))));
    out[16 * n + t] = (unsigned long long)(unsigned)((((((((((__umulhi(u2, 4294967282u)) % 7u)) / 1000u)) / (((4294967281u | (__funnelshift_lc((max(u1, u0)), ((unsigned)(unsigned char)(u0 >> 8)), (__funnelshift_l(u1, 75u, 13u)))))) | 1u))) + (permuted(((unsigned)(unsigned char)(((((u1 + 62u)) / (((unsigned)(unsigned char)(u2 >> 8)) | 1u))) >> 8)), ((((((f2 == f2)) & ((f0 < f2)))) ? u2 : (((__dp4a(u1, u0, u0)) / 1000u)))), (((((u2 / 1000u)) >> 11) & 0x1fu)))))));
    out[17 * n + t] = (unsigned long long)(unsigned)((__clz(((((int)(short)(1883127893)) & (((((__uint2float_rd(u1)) <= (__int_as_float(i1)))) / -3)))))));
    out[18 * n + t] = (unsigned long long)__float_as_uint((fmaxf(f1, ((float)((unsigned)(unsigned char)((__funnelshift_l(((u0 / (u1 | 1u))), (max(u1, 41u)), u0)) >> 8))))));
    out[19 * n + t] = (unsigned long long)((((((((__brevll(w2)) / (w2 | 1ull))) % ((((__double2ull_ru((floor(d1)))) | (min(w1, (__double2ull_ru(d0)))))) | 1ull))) / (((((int)(short)(__ffsll(((l1 >> (i2 & 63)))))) ? ((w2 ^ ((w1 | ((w0 % (w0 | 1ull))))))) : (__double2ull_ru((trunc(((double)u1))))))) | 1ull))));
}
