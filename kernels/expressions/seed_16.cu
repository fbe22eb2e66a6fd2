// 20 random expressions of seed 16; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__double_as_longlong((cos((((fma(((double)((unsigned)(unsigned char)(u2 >> 8))), ((-(__drcp_rn((8.530300066953098e-24))))), ((double)((w2 % (w2 | 1ull)))))) - ((double)(__brevll((((unsigned long long)u1 * (unsigned long long)u1 + w2))))))))));
    out[1 * n + t] = (unsigned long long)((min(((w1 | (((__umul64hi(((unsigned long long)u0), w1)) >> ((max(((int)((unsigned)i0 * (unsigned)i2 + (unsigned)i2)), i0)) & 63))))), (max((((min(((18446744073709551518ull % (w0 | 1ull))), ((w2 ^ w2)))) << 13)), ((unsigned long long)(permuted(u2, ((unsigned)(short)(u1 >> 16)), u1))))))));
    out[2 * n + t] = (unsigned long long)(((long long)((unsigned long long)(__double_as_longlong(d2)) * (unsigned long long)((long long)((unsigned long long)(__double2ll_rn((sqrt(d0)))))))));
    out[3 * n + t] = (unsigned long long)((__umul64hi(w0, ((((w2 % ((((__brevll(w2)) + ((unsigned long long)l0))) | 1ull))) * w2)))));
    out[4 * n + t] = (unsigned long long)(unsigned)(((int)((unsigned)((int)(unsigned char)(((half_sum(u2, (__funnelshift_l(75u, 603277420u, u0)))) < (((__double2float_ru(d0)) / f1))))) * (unsigned)(((((-46) && (__double2int_rn(((d2 * d1)))))) && (!(((float)(short)i1) >= (fmodf((__int2float_ru(i2)), (__double2float_ru(d0)))))))) + (unsigned)i2)));
    out[5 * n + t] = (unsigned long long)__double_as_longlong((cbrt((((__float2int_rz((fminf(f1, (half_product(u2, 18u)))))) ? (1.6887719385882614e-21) : d0)))));
    out[6 * n + t] = (unsigned long long)__float_as_uint((logf(f1)));
    out[7 * n + t] = (unsigned long long)__float_as_uint((__uint2float_rd(((((unsigned)(unsigned char)(((unsigned)(w1 >> 32)) >> 8)) + (__funnelshift_l((__float2uint_rz((__fadd_rz((-1.153946e-5f), f2)))), (((__sad(i2, i2, u2)) * (__brev(u1)) + u1)), ((((unsigned)(27ull >> 32)) >> (((u0 >> (u1 & 31u))) & 31u))))))))));
    out[8 * n + t] = (unsigned long long)__double_as_longlong((rint((__drcp_rn((sqrt((trunc(((d0 - d1)))))))))));
    out[9 * n + t] = (unsigned long long)(((w2 % ((((min((__umul64hi((min(w0, w1)), (__brevll(w1)))), (((unsigned long long)(((u1 >> 11) & 0x1fu)) * (unsigned long long)((unsigned)(short)(u1 >> 16)) + (max(w1, 18446744073709551578ull)))))) * (min(w0, ((18446744073709551590ull * ((w1 << 13)))))))) | 1ull))));
    out[10 * n + t] = (unsigned long long)(unsigned)((((__umul24((__usad(u2, ((((40u >> (u0 & 31u))) / 1000u)), (((permuted(u1, u2, u2)) / ((__umulhi(u1, u0)) | 1u))))), ((((((unsigned)(56)) % ((__funnelshift_rc(u1, u1, u1)) | 1u))) * (__sad(((i1 / ((i0 & 0xffff) + 1))), ((f2 == f1)), u0)) + (((__byte_perm(u0, u1, u1 & 0x7777u)) - (permuted(u2, 3546482321u, u2)))))))) - 57u)));
    out[11 * n + t] = (unsigned long long)(unsigned)((__usad(u0, (((__float2uint_rn(f0)) + u1)), (__sad((((max(((long long)((unsigned long long)l2 - (unsigned long long)l2)), ((l0 / 1000000007ll)))) < l0)), (((((ceil(d2)) / (ceil(d2)))) > (fmax((fma(d2, d2, d2)), d0)))), (__brev((((permuted(u0, 4294967286u, u2)) + (__float2uint_rn((-7.385254e-4f))))))))))));
    out[12 * n + t] = (unsigned long long)(unsigned)((~(__float2uint_rn(((((-((f1 - f0)))) * ((float)(signed char)((int)l1)) + f1))))));
    out[13 * n + t] = (unsigned long long)(((long long)((unsigned long long)(((long long)((((((w1 / (w2 | 1ull))) > (((unsigned long long)u2 * (unsigned long long)u1 + w0)))) / -3)) * (long long)(__double2int_rn((__drcp_rn(((d0 / (2.596e2))))))))) - (unsigned long long)(__mul64hi((-41ll), (__double2ll_rz(((d0 * d0)))))))));
    out[14 * n + t] = (unsigned long long)((max(((w1 % (w1 | 1ull))), (min(((((((w1 + w2)) ^ ((w0 << (i0 & 63))))) + ((unsigned long long)(((-35) ? u2 : u1))))), (__float2ull_rn((__int_as_float((max(i0, i2)))))))))));
    out[15 * n + t] = (unsigned long long)((max((max((((__umul64hi(w2, ((unsigned long long)u1))) ^ (__brevll(w2)))), (((__umul64hi(((w2 >> (i2 & 63))), w2)) << (((int)(0u - (unsigned)((i2 ^ (84) ^ i0)))) & 63))))), w2)));
    out[16 * n + t] = (unsigned long long)__float_as_uint((rsqrtf((rintf(((float)(__hiloint2double(i1, (abs((64) >> 1))))))))));
    out[17 * n + t] = (unsigned long long)__double_as_longlong((((fma(((-((((-d0)) > (floor(d1)) ? ((-d0)) : (floor(d1)))))), (rint((rint(d1)))), ((-d1)))) * (__drcp_rn((-5.971210046867169e-25))))));
    out[18 * n + t] = (unsigned long long)(unsigned)((__sad(((int)((long long)((unsigned long long)(((long long)((d2 >= d1)) * (long long)((i1 / 7)))) - (unsigned long long)((((long long)i0) >> 37))))), (min(i2, ((int)((unsigned)((int)((unsigned)((f2 <= f1)) * (unsigned)(((66) % 10)))) - (unsigned)((int)((unsigned)i2 - (unsigned)(__double2hiint(d1)))))))), (__uhadd((__double2uint_rz(((double)((l2 / ((l1 & 0xffffffffffll) + 1ll)))))), (__float_as_uint(f1)))))));
    out[19 * n + t] = (unsigned long long)(((((w1 | w0)) << 13)));
}
