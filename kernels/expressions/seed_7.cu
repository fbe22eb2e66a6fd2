// 20 random expressions of seed 7; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)((min((__brevll((__float2ull_rn((__frcp_rn((half_product(u0, u0)))))))), w2)));
    out[1 * n + t] = (unsigned long long)__double_as_longlong(((((((((double)(__mul64hi((-68ll), l0))) + d2)) / ((double)w1))) / ((double)(((__funnelshift_r((((u2 & u2) | (~u2 & u1))), ((u0 % 7u)), (((3852748651u >> 11) & 0x1fu)))) % 7u))))));
    out[2 * n + t] = (unsigned long long)((max(((((unsigned long long)((((max(u1, u2)) >> 11) & 0x1fu))) * ((((((w0 * w2)) ^ ((1756148621030821548ull << 13)))) << ((((__dp4a((-16), i0, i2)) < ((w0 > w1)))) & 63))))), (__double2ull_ru(((double)f1))))));
    out[3 * n + t] = (unsigned long long)(unsigned)(((unsigned)(((((w1 ^ ((((w1 ^ w0)) + (__float2ull_rn(f0)))))) << (((((float)(__popc(2304668332u))) == ((float)((unsigned long long)2434934525u)))) & 63))) >> 32)));
    out[4 * n + t] = (unsigned long long)(unsigned)(((((unsigned)((int)((unsigned)(((ceilf((3.9678115e8f))) < (rintf(f2)))) * (unsigned)((int)(0u - (unsigned)((int)(short)i1))) + (unsigned)i1))) + (__usad(((unsigned)(((w0 / ((max(w2, w2)) | 1ull))) >> 32)), ((unsigned)(short)((((__double2uint_rz((-2.981555974335137e-19))) << ((min(u2, u1)) & 31u))) >> 16)), (((__funnelshift_rc((((18u >> 11) & 0x1fu)), (max(u1, 4294967246u)), ((u1 % 7u)))) / 1000u)))))));
    out[5 * n + t] = (unsigned long long)(((((((((unsigned long long)((long long)((unsigned long long)l1 - (unsigned long long)l2))) << 13)) > w0)) ? (__float2ll_rz((4.95616e4f))) : (__float2ll_rz(f0)))));
    out[6 * n + t] = (unsigned long long)(((unsigned long long)((u2 / 1000u))));
    out[7 * n + t] = (unsigned long long)__double_as_longlong(((double)((((((w1 >> ((-27) & 63))) ^ ((((w2 - w0)) + 90ull)))) << 13))));
    out[8 * n + t] = (unsigned long long)__float_as_uint((rintf(((float)(short)(max(((((i2 / -((i2 & 0xfff) + 2))) <= (-49))), (!(((double)u1) < ((double)w0)))))))));
    out[9 * n + t] = (unsigned long long)(unsigned)((!(!(f0 >= ((float)((long long)((unsigned long long)(min(l1, l2)) - (unsigned long long)((long long)((unsigned long long)l1 * (unsigned long long)l0)))))))));
    out[10 * n + t] = (unsigned long long)(((long long)(__umul64hi(w0, (__brevll(11832034963804730227ull))))));
    out[11 * n + t] = (unsigned long long)(unsigned)((((__popc(((unsigned)(unsigned char)((__float2uint_rz((8.25e0f))) >> 8)))) / 16)));
    out[12 * n + t] = (unsigned long long)__double_as_longlong((floor(((double)((l2 & ((long long)((1560851033u < 4294967249u)))))))));
    out[13 * n + t] = (unsigned long long)(unsigned)((((((((u0 >> ((min((__brev(u0)), u2)) & 31u))) / 1000u)) & ((unsigned)(short)((__umul24((__sad((88), ((f1 != f2)), ((unsigned)(w2 >> 32)))), (__float2uint_rz((fmodf(f2, f2)))))) >> 16))) | (~((((u0 >> ((min((__brev(u0)), u2)) & 31u))) / 1000u)) & (((__umul24(u2, (__byte_perm(((unsigned)(w2 >> 32)), u0, (((u1 >> 11) & 0x1fu)) & 0x7777u)))) * (__funnelshift_rc((((__usad(u0, u2, 4294967251u)) * ((unsigned)(w2 >> 32)) + (~u2))), ((((__uhadd(u2, u2)) & ((unsigned)(w1 >> 32))) | (~(__uhadd(u2, u2)) & ((u0 / (43u | 1u)))))), u0))))))));
    out[14 * n + t] = (unsigned long long)(((long long)((unsigned long long)((long long)(__float2ull_rn(((float)(signed char)(__ffs(i2)))))) - (unsigned long long)l1)));
    out[15 * n + t] = (unsigned long long)((((((((((max(9208065664045464558ull, 13ull)) << (((int)(unsigned short)u1) & 63))) / (w0 | 1ull))) - (((__brevll(((4581481485824636768ull % (5837029663263360433ull | 1ull))))) * w2)))) | ((w1 << 13)))));
    out[16 * n + t] = (unsigned long long)__float_as_uint((__fmul_ru((__fmul_ru(((((f0 * ((float)(unsigned short)(u1 >> 16)) + f1)) + (__fmul_ru((__double2float_rd(d0)), (3.5247803e-4f))))), (fmodf(f0, (__fadd_ru((7.8848003e3f), ((f0 / f0)))))))), (float_of_half((__float_as_uint(f2)))))));
    out[17 * n + t] = (unsigned long long)(unsigned)(((i2 ? ((1065754365u | u0)) : (__float2uint_rn(((float)(unsigned char)((((min(u2, u2)) << ((__uhadd(u2, u0)) & 31u))) >> 16)))))));
    out[18 * n + t] = (unsigned long long)__double_as_longlong((floor(d1)));
    out[19 * n + t] = (unsigned long long)__float_as_uint((__int2float_ru((__popcll(((((((18446744073709551528ull ^ 75ull)) << 13)) / (((73ull + w0)) | 1ull))))))));
}
