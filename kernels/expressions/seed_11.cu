// 20 random expressions of seed 11; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)(((w1 | (__float2ull_rn(f1)))));
    out[1 * n + t] = (unsigned long long)(unsigned)((__funnelshift_lc(u1, ((3698705637u >> ((permuted((__uhadd(u2, ((unsigned)(unsigned char)(u0 >> 8)))), (__funnelshift_lc((__float_as_uint(f0)), (__dp4a(u1, u1, 2411884998u)), (__funnelshift_lc(u1, u0, 4294967294u)))), ((((4u % (u2 | 1u))) << (((unsigned)(unsigned char)(u0 >> 8)) & 31u))))) & 31u))), (__float_as_uint(f1)))));
    out[2 * n + t] = (unsigned long long)((min(((long long)((unsigned long long)(((long long)(((max(i2, i1)) / -3)) * (long long)(__clz((__dp4a(i0, i0, i1)))))) + (unsigned long long)l1)), l1)));
    out[3 * n + t] = (unsigned long long)((__float2ull_rn((__int2float_rz((__clzll((((__float2int_rn((-1.6448975e-3f))) ? ((long long)18446744073709551584ull) : l2)))))))));
    out[4 * n + t] = (unsigned long long)(((((w2 / ((min(w1, ((((8709487156875006712ull - w1)) - (max(w1, 18446744073709551525ull)))))) | 1ull))) << 13)));
    out[5 * n + t] = (unsigned long long)(((unsigned long long)(__float_as_uint(f0))));
    out[6 * n + t] = (unsigned long long)(unsigned)(((int)((unsigned)((int)((unsigned)(((((((1.0137601e4f) == (-2.0947266e-2f))) < i0)) ? (__popcll(w1)) : (!((__double2float_rz(d0)) >= f1)))) + (unsigned)i2)) - (unsigned)((l0 < (((max(l0, (__double2ll_rz(d2)))) >> 37)))))));
    out[7 * n + t] = (unsigned long long)((llabs(((long long)(min(w2, (min(((unsigned long long)3282489788u), w0))))) >> 1)));
    out[8 * n + t] = (unsigned long long)(unsigned)((((__double2ll_rz(((double)((unsigned)(unsigned char)(139153364u >> 8))))) != l1)));
    out[9 * n + t] = (unsigned long long)((__brevll(w2)));
    out[10 * n + t] = (unsigned long long)((__double2ll_rn((2.150890358994534e21))));
    out[11 * n + t] = (unsigned long long)((((__float2ll_rz((fmaf(-f1, (half_product(((unsigned)i0), ((u2 | u2)))), fabsf((3.460301e6f)))))) / 1000000007ll)));
    out[12 * n + t] = (unsigned long long)__float_as_uint((__saturatef((__fadd_ru((half_sum((__funnelshift_lc((max(u0, u0)), 1355395305u, u2)), 74u)), f2)))));
    out[13 * n + t] = (unsigned long long)(((((i1 ? w0 : ((((((w2 | w1)) + ((w1 % (18446744073709551598ull | 1ull))))) | (__brevll((max(w0, w2)))))))) * (__umul64hi((((((unsigned long long)(__funnelshift_r(2103139152u, u0, u0)) * (unsigned long long)(__dp4a(u2, u1, 4294967206u)) + ((w0 + w1)))) + (__double2ull_ru((__hiloint2double(i1, (-61))))))), ((w2 / ((((unsigned long long)(((u0 << 9) + u1)) * (unsigned long long)(__usad(4294967216u, 4294967232u, u0)) + ((w0 - w1)))) | 1ull))))))));
    out[14 * n + t] = (unsigned long long)((llabs(l1 >> 1)));
    out[15 * n + t] = (unsigned long long)__float_as_uint((exp2f(f1)));
    out[16 * n + t] = (unsigned long long)(unsigned)((((fmax(d1, ((d0 + ((double)((int)(0u - (unsigned)i1))))))) >= ((double)(~(min((~l1), (-38ll))))))));
    out[17 * n + t] = (unsigned long long)__float_as_uint((float_of_half((~(__usad(((unsigned)(__double2int_rd(d0))), (((__funnelshift_lc(u0, u2, u2)) / (((u2 - u0)) | 1u))), (__float_as_uint(f1))))))));
    out[18 * n + t] = (unsigned long long)((__double2ll_rz(d1)));
    out[19 * n + t] = (unsigned long long)__float_as_uint((__fmul_ru((half_of((half_sum(24u, (((max(u1, u2)) / (u2 | 1u))))))), (half_of((half_sum(4294967226u, 3946128912u)))))));
}
