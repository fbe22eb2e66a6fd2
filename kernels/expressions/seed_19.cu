// 20 random expressions of seed 19; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)(unsigned)((!((__fmul_rz(f1, (((fabsf((__fmaf_rz(f1, f2, (1.9805909e-3f))))) + (__fadd_rz(((float)d0), (ceilf((-3.6909875e9f))))))))) >= (sqrtf((__frcp_rn(((float)(unsigned char)(((3678596347u | 4294967199u)) >> 16)))))))));
    out[1 * n + t] = (unsigned long long)(((w1 << ((((((unsigned long long)(max((__funnelshift_r(u0, u1, u2)), ((unsigned)(w1 >> 32)))) * (unsigned long long)(__byte_perm((((u2 << 9) + u2)), u2, ((u1 / 1000u)) & 0x7777u)) + ((((18446744073709551582ull + w2)) >> (((i1 % (((37) & 0xffff) + 1))) & 63))))) > w1)) & 63))));
    out[2 * n + t] = (unsigned long long)(unsigned)((__popc((((u2 << 9) + (__usad(3625029791u, (((__dp4a(u0, u1, u2)) + (((u1 >> 11) & 0x1fu)))), (~(__float2uint_rz(f0))))))))));
    out[3 * n + t] = (unsigned long long)(unsigned)((((((94u << 9) + (__funnelshift_l(((u2 * ((4294967294u / 1000u)))), u2, u2)))) >> (u1 & 31u))));
    out[4 * n + t] = (unsigned long long)((((((__double2float_rd(((double)(__frcp_rn(f0))))) < (-4.917383e-7f))) ? ((unsigned long long)l1) : (__double2ull_ru(((double)(__brevll(((unsigned long long)786422497u)))))))));
    out[5 * n + t] = (unsigned long long)__float_as_uint((exp2f(((((float)(signed char)i1) + (half_product(((((u2 % 7u)) << (((unsigned)(short)(u2 >> 16)) & 31u))), (((((-64) & (-2))) ? ((u0 << (u0 & 31u))) : (__float_as_uint(f0)))))))))));
    out[6 * n + t] = (unsigned long long)(unsigned)((__float2int_ru((rintf((fmaxf((__frcp_rn((fmaxf(f0, (-6.6e1f))))), (rintf(f1)))))))));
    out[7 * n + t] = (unsigned long long)(((l0 % (((min((((__float2int_rz(((f2 * f2 + f2)))) ? (__double2ll_rz(((double)(-37)))) : (((__double2int_rn(d0)) ? (__float2ll_rz(f0)) : ((l0 / 1000000007ll)))))), ((long long)4294967204u))) & 0xffffffffffll) + 1ll))));
    out[8 * n + t] = (unsigned long long)(unsigned)((((((__fmul_rz(((float)(short)(((-1.1264e4f) == (-1.9250001e0f)))), ((((w1 <= w0)) ? f1 : (__fmaf_rz(f1, f0, f2)))))) == (ceilf(((float)(signed char)((int)((unsigned)i2 * (unsigned)i1))))))) && (__popc((__funnelshift_l(((u1 / (((unsigned)(-29)) | 1u))), (~(__sad((1166104084), i2, u2))), (min(((u0 * u0)), (__float2uint_rz(f0)))))))))));
    out[9 * n + t] = (unsigned long long)__float_as_uint((rintf((__int2float_rz((__mulhi(((i2 / 16)), (((rint(d0)) >= (trunc(d2)))))))))));
    out[10 * n + t] = (unsigned long long)((max(((((u1 < (max((__dp4a(u1, u0, u2)), (__funnelshift_r(u0, u0, u0)))))) ? w0 : ((((unsigned long long)(__dp4a(u0, u0, 694007872u))) * ((unsigned long long)l1))))), w0)));
    out[11 * n + t] = (unsigned long long)(unsigned)((((__float2int_rz((half_product(3087196914u, (((u2 << 9) + (__funnelshift_lc(1463212736u, u2, u0)))))))) % (((__popc((((__uhadd(((u0 / 1000u)), (__umulhi(3935472619u, u1)))) | (__float2uint_rz(f2)))))) & 0xffff) + 1))));
    out[12 * n + t] = (unsigned long long)__double_as_longlong((__hiloint2double((((__double2int_rn((((-1.6070803437015762e22) / (fmin(d2, (-8.003553375601769e-12))))))) % ((i0 & 0xffff) + 1))), ((((float)((d1 >= ((double)i0)))) == (__fmul_rz(((((f0 * f0 + f2)) / (-2.365e1f))), (3.7765505e-5f))))))));
    out[13 * n + t] = (unsigned long long)((__brevll(((((w0 >> ((32) & 63))) * ((((((unsigned long long)l1) + (__brevll(w1)))) + w2)))))));
    out[14 * n + t] = (unsigned long long)__double_as_longlong((ceil((__hiloint2double(i2, ((((-f1)) < (__frcp_rn((__frcp_rn(f2)))))))))));
    out[15 * n + t] = (unsigned long long)(((((i0 ? (__double2ull_ru((__hiloint2double((!(d1 < d1)), ((i1 % ((i0 & 0xffff) + 1))))))) : (min(((18446744073709551588ull << (((i0 ^ i1 ^ i0)) & 63))), 28ull)))) % ((__umul64hi((((__float2ull_rn((fminf((-1.1264e4f), f2)))) | 96ull)), ((unsigned long long)l0))) | 1ull))));
    out[16 * n + t] = (unsigned long long)__float_as_uint((half_product(((unsigned)(((w0 | (((__umul64hi(57ull, 5201327860294613187ull)) / (w1 | 1ull))))) >> 32)), (__byte_perm((__float_as_uint(f2)), u1, (max((min(((u1 * u1)), u0)), (__funnelshift_l((permuted(u0, 1910477604u, 4294967270u)), (__funnelshift_rc(u0, u2, u2)), u0)))) & 0x7777u)))));
    out[17 * n + t] = (unsigned long long)((((__double_as_longlong(d2)) >> (((int)((unsigned)i1 + (unsigned)(!((2.2292138e-6f) >= (half_product(((unsigned)i0), ((u1 - u2)))))))) & 63))));
    out[18 * n + t] = (unsigned long long)(unsigned)((((528390797) % 10)));
    out[19 * n + t] = (unsigned long long)(unsigned)((~u2));
}
