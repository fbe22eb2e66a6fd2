// 20 random expressions of seed 1; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__double_as_longlong((((((((~l1) / (((__double2ll_rz(((-(-8.388128399170547e-25))))) & 0xffffffffffll) + 1ll))) < ((long long)((unsigned long long)((long long)((int)l1)) - (unsigned long long)l2)))) ? (ceil(((double)(~(__double_as_longlong(d2)))))) : ((double)((((((i2 == i0)) ^ ((i2 / 7)))) ? (((unsigned long long)((unsigned)(short)(u0 >> 16)) * (unsigned long long)(__funnelshift_l(u0, u0, u1)) + ((w1 << 13)))) : (__float2ull_rn(((float)d1)))))))));
    out[1 * n + t] = (unsigned long long)__double_as_longlong((sin(((double)(float_of_half((__umul24(((u0 + u0)), u1))))))));
    out[2 * n + t] = (unsigned long long)((__float2ll_rz((__fadd_rz((__fmaf_ru((((floorf((8.1893784e7f))) * 2.0f)), (half_sum((((75u << 9) + u0)), ((u2 * u2)))), f1)), (__fadd_rd((fmaf(((float)(short)i0), ((i1 ? f0 : f2)), f2)), (fminf(((f0 / f2)), (__fmaf_rz(f0, f0, (6.25625e0f))))))))))));
    out[3 * n + t] = (unsigned long long)((__double2ull_ru(d0)));
    out[4 * n + t] = (unsigned long long)__float_as_uint(((float)(short)(__popcll(w2))));
    out[5 * n + t] = (unsigned long long)((__double_as_longlong(d2)));
    out[6 * n + t] = (unsigned long long)(unsigned)((__double2int_rn(((double)90ull))));
    out[7 * n + t] = (unsigned long long)__float_as_uint(((float)(unsigned char)(u1 >> 16)));
    out[8 * n + t] = (unsigned long long)(unsigned)((((__double2float_rz(((((((i0 & i0)) || (-48))) ? (__hiloint2double((__float2int_rn(f1)), i1)) : (6.500862499225601e12))))) <= f0)));
    out[9 * n + t] = (unsigned long long)((__mul64hi(((long long)((u1 / 1000u))), (__mul64hi(l0, ((long long)((unsigned long long)(max(((l2 >> 17)), ((l0 >> 17)))) + (unsigned long long)((long long)((18446744073709551598ull % (w1 | 1ull)))))))))));
    out[10 * n + t] = (unsigned long long)__double_as_longlong((trunc(((double)(((((max(w2, w0)) % (w1 | 1ull))) | (__float2ull_rn((fmodf(f1, (-1.3375283e-5f)))))))))));
    out[11 * n + t] = (unsigned long long)(unsigned)((__funnelshift_rc(u2, (((__byte_perm(((((u2 * u2)) - (__funnelshift_l(u1, u1, u0)))), ((((((u1 << 9) + u2)) >> 11) & 0x1fu)), (((4294967202u & ((unsigned)(w0 >> 32))) | (~4294967202u & ((unsigned)(unsigned char)(u0 >> 8))))) & 0x7777u)) << ((__usad((((((u2 / 1000u)) & (((u1 << 9) + u2))) | (~((u2 / 1000u)) & (permuted(u1, 40u, u0))))), (__dp4a(((u1 / 1000u)), u2, ((u2 * 2634903064u)))), (__funnelshift_lc(((4294967227u << (91u & 31u))), ((u2 * u1 + u0)), ((2833879448u * u2)))))) & 31u))), ((u2 * (__funnelshift_l((~(__uhadd(u0, u2))), u0, (__float_as_uint(f1)))) + (((__ffs(i0)) ? ((unsigned)(((w2 >> ((-20) & 63))) >> 32)) : ((unsigned)(__double2hiint(d2))))))))));
    out[12 * n + t] = (unsigned long long)__double_as_longlong(((((i1 ? d0 : ((i1 ? (rint(((double)l2))) : (__drcp_rn(((double)w0))))))) > ((double)((i0 ? (min(w1, 11727540596597162714ull)) : w2))) ? ((i1 ? d0 : ((i1 ? (rint(((double)l2))) : (__drcp_rn(((double)w0))))))) : ((double)((i0 ? (min(w1, 11727540596597162714ull)) : w2))))));
    out[13 * n + t] = (unsigned long long)((__mul64hi(((long long)(((min(w0, w1)) - w2))), (((min((max((min(l0, (-17ll))), ((long long)((unsigned long long)(91ll) * (unsigned long long)l0)))), (__double2ll_rn((5.843200000000001e3))))) / (((min(((long long)(__uhadd(u2, u0))), l2)) & 0xffffffffffll) + 1ll))))));
    out[14 * n + t] = (unsigned long long)(((unsigned long long)(__double_as_longlong(d2))));
    out[15 * n + t] = (unsigned long long)(((long long)((unsigned long long)(((__float2ll_rz((((fmaxf(f2, f2)) - ((float)w0))))) >> (((int)(unsigned char)(__popcll((max(w2, w1))))) & 63))) - (unsigned long long)l1)));
    out[16 * n + t] = (unsigned long long)__float_as_uint((__fmaf_rz(f2, (__int2float_rz(((f2 == ((float)(1.9712000000000003e3)))))), (((half_of((fmaf(-(__fmul_rz(f1, f2)), (__fmul_ru((-1.23904e4f), f1)), fabsf((fmodf(f2, (4.05625e0f)))))))) * f1 + ((float)(signed char)(__double2int_rn((__hiloint2double(i1, i1))))))))));
    out[17 * n + t] = (unsigned long long)(unsigned)((((fmaf((__fmaf_rz((__fmul_rz((__fmul_rd(f0, f1)), (__fadd_rd(f2, f0)))), (__fmul_rz(((float)(unsigned char)(u1 >> 16)), ((float)(-148788065500270089ll)))), (__saturatef((half_product(u2, u2)) * ((float)(short)i2))))), (__int_as_float((__popcll((__double2ull_ru(d2)))))), f0)) == ((float)(__double2ll_rn((ceil((fmax(d2, d0))))))))));
    out[18 * n + t] = (unsigned long long)(((long long)((unsigned long long)(__double2ll_rn((ceil(d0)))) + (unsigned long long)(__double2ll_rn(((-(fma((__longlong_as_double(l0)), (((-1.3552e3) + d0)), (fmin(d1, d0)))))))))));
    out[19 * n + t] = (unsigned long long)((min(((long long)((((int)(unsigned short)((i0 ? u2 : u0))) % (((__float2int_rz((__fmul_rz(f2, f1)))) & 0xffff) + 1)))), (__float2ll_rz(f0)))));
}
