// 20 random expressions of seed 3; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)((((min(((w0 >> (i1 & 63))), w0)) | w2)));
    out[1 * n + t] = (unsigned long long)(unsigned)(((unsigned)i2));
    out[2 * n + t] = (unsigned long long)__double_as_longlong((fmax(((double)(((__umul64hi((min(w1, w0)), ((w2 >> (i1 & 63))))) | ((unsigned long long)((long long)w0))))), (floor((-1.517150124470436e16))))));
    out[3 * n + t] = (unsigned long long)((__double2ll_rz(((d2 > (((floor(((d0 * (1.141131633630721e-12))))) * ((((d0 / d2)) + ((d2 + d2)))))) ? d2 : (((floor(((d0 * (1.141131633630721e-12))))) * ((((d0 / d2)) + ((d2 + d2)))))))))));
    out[4 * n + t] = (unsigned long long)(unsigned)((__float2uint_rn(((float)(short)((((((w0 > w0)) / -(((__double2int_rd(d1)) & 0xfff) + 2))) <= ((((f2 - f0)) != (fmodf(f2, f2))))))))));
    out[5 * n + t] = (unsigned long long)(unsigned)((__funnelshift_l((((~(((((u1 * u1)) << 9) + ((u1 + 42u))))) | 82u)), 59u, 75u)));
    out[6 * n + t] = (unsigned long long)__double_as_longlong((fmin((((fma((__longlong_as_double(((l1 / ((l2 & 0xffffffffffll) + 1ll))))), ((double)((i0 < i2))), ((((-d2)) * (fmin(d0, d2)))))) > ((double)w1) ? (fma((__longlong_as_double(((l1 / ((l2 & 0xffffffffffll) + 1ll))))), ((double)((i0 < i2))), ((((-d2)) * (fmin(d0, d2)))))) : ((double)w1))), (fmax((((-2.057273622291245e-18) > ((((double)u1) + ((double)l0))) ? (-2.057273622291245e-18) : ((((double)u1) + ((double)l0))))), ((((double)((u2 >> (95u & 31u)))) / d2)))))));
    out[7 * n + t] = (unsigned long long)(unsigned)((__funnelshift_l((__sad((((((((-87) ^ i2 ^ i1)) / -3)) ? ((((double)(unsigned char)(u1 >> 8)) != ((double)(34)))) : ((int)(0u - (unsigned)i1)))), (max((__popc(57u)), (((__mul24((84) >> 12, i2 >> 20)) & (max(i0, (-90))))))), (__uhadd(((((((u1 & u1) | (~u1 & u0))) << 9) + ((unsigned)i1))), ((((u1 >> (u1 & 31u))) >> ((min(34u, u0)) & 31u))))))), u2, ((unsigned)(__ffsll((__double2ll_rn(d1))))))));
    out[8 * n + t] = (unsigned long long)__double_as_longlong((((fabs((__longlong_as_double(((long long)((unsigned long long)(30ll) - (unsigned long long)((long long)((unsigned long long)(-89ll) + (unsigned long long)l0)))))))) > (4.953959590107546e15) ? (fabs((__longlong_as_double(((long long)((unsigned long long)(30ll) - (unsigned long long)((long long)((unsigned long long)(-89ll) + (unsigned long long)l0)))))))) : (4.953959590107546e15))));
    out[9 * n + t] = (unsigned long long)__float_as_uint((fminf((__fmaf_ru((half_of(((float)(signed char)((i0 / 16))))), (half_sum((((__float2uint_rn(f0)) % ((((u2 << 9) + u1)) | 1u))), (__sad(((u1 >= u2)), (__float_as_int(f1)), ((0u << (1994107071u & 31u))))))), f2)), (truncf(f0)))));
    out[10 * n + t] = (unsigned long long)(unsigned)(((u0 << ((__funnelshift_l(u2, (__float_as_uint(f2)), ((((u0 % 7u)) * ((unsigned)(((18446744073709551552ull >> (i0 & 63))) >> 32)))))) & 31u))));
    out[11 * n + t] = (unsigned long long)__double_as_longlong((__hiloint2double(i2, ((((int)(signed char)((f2 != f2))) && ((int)((unsigned)i0 << (((((int)((unsigned)i0 - (unsigned)i0)) / -3)) & 31))))))));
    out[12 * n + t] = (unsigned long long)(unsigned)(((((int)((unsigned)((((i1 || (__rhadd(i0, (-64))))) ^ (!(__ffs(i1))) ^ ((int)((unsigned)i0 + (unsigned)((i0 / 7)))))) * (unsigned)(((((!(d1 < d0)) ? (fmax((-1.5488000000000002e4), (-4.099639464710814e-20))) : (((-3.123889184675207e-29) > d1 ? (-3.123889184675207e-29) : d1)))) > (sqrt((__drcp_rn(d1)))))))) ? (((__umul24((__funnelshift_l(((u1 | u2)), (__funnelshift_l(u0, u2, u1)), ((unsigned)(w2 >> 32)))), ((i1 ? (__double2uint_rz(d2)) : u1)))) / ((~((unsigned)((min(w0, w1)) >> 32))) | 1u))) : (__float2uint_rn((fmaf((__saturatef((__fmul_rz(f1, f2)) * (__fmul_rz((-3.432e2f), f0)))), (-3.739648e5f), (((float_of_half(u1)) * ((float)(unsigned char)(u1 >> 16)))))))))));
    out[13 * n + t] = (unsigned long long)__double_as_longlong((fmin(((double)(unsigned char)((((max(((u2 % (u1 | 1u))), u0)) % (((((__uhadd(u1, 0u)) << 9) + ((u1 / 1000u)))) | 1u))) >> 8)), ((double)(!(d1 < (fmax(((i2 ? d0 : d2)), d1))))))));
    out[14 * n + t] = (unsigned long long)__double_as_longlong(((i0 ? ((double)(unsigned char)(((unsigned)(short)(((u2 * ((u2 / (u0 | 1u))) + (__dp4a(u2, u1, 4294967241u)))) >> 16)) >> 8)) : (((rint((__longlong_as_double((max((-87ll), l1)))))) - d2)))));
    out[15 * n + t] = (unsigned long long)(unsigned)((__funnelshift_r((__umulhi((((__funnelshift_lc(((u1 * u1)), (__funnelshift_rc(u1, u2, 86u)), ((u2 >> (u1 & 31u))))) * (__uhadd(((unsigned)(short)(u2 >> 16)), ((u2 / (u2 | 1u))))) + 3686861438u)), 3979151426u)), (((__funnelshift_lc((__funnelshift_r(((unsigned)(short)(u0 >> 16)), ((12u / (u1 | 1u))), (((u0 << 9) + u2)))), (((__float_as_uint(f1)) / (((u0 % (u2 | 1u))) | 1u))), u1)) % ((__funnelshift_l(((unsigned)(((w1 + w0)) >> 32)), ((((unsigned)i1) / ((__uhadd(u1, u2)) | 1u))), (((__sad(i2, i0, u1)) + (__usad(4266060180u, u0, u2)))))) | 1u))), (__funnelshift_lc(((((((i0 && (-1644063223))) ? (((u2 << 9) + u1)) : (__umulhi(u1, 4294967222u)))) % (u1 | 1u))), 24u, 4231256625u)))));
    out[16 * n + t] = (unsigned long long)(unsigned)((__double2int_rd(((((((d1 / (trunc(d2)))) > (trunc(d1)))) ? ((double)f0) : d2)))));
    out[17 * n + t] = (unsigned long long)(unsigned)(((int)(signed char)(__mulhi(i2, i2))));
    out[18 * n + t] = (unsigned long long)(unsigned)(((((double)(__float2uint_rn((ceilf((fmaf(f2, f2, f1))))))) > (__drcp_rn((__drcp_rn((floor((-5.0778085798602344e16))))))))));
    out[19 * n + t] = (unsigned long long)__float_as_uint((exp2f((ceilf((fmaxf(((float)(max(w1, w0))), (__fmul_rd(((float)(signed char)i0), (__fmaf_rd(f2, f2, f1)))))))))));
}
