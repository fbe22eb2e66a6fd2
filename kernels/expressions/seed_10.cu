// 20 random expressions of seed 10; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)__float_as_uint(((float)((((long long)((w2 + ((w1 * w0))))) / (((max(((long long)(((1.4394852e9f) == f1))), (min(((l2 % ((l0 & 0xffffffffffll) + 1ll))), l0)))) & 0xffffffffffll) + 1ll)))));
    out[1 * n + t] = (unsigned long long)__double_as_longlong((ceil(d1)));
    out[2 * n + t] = (unsigned long long)__float_as_uint((ceilf((__fadd_rz((__fadd_ru((__fmul_rd((__fmul_ru(f1, f2)), (__fmaf_rz(f0, (-1.0813441e5f), f1)))), f1)), ((((((u1 / (u2 | 1u))) >= ((u2 * u1)))) ? (half_of((fmaf(f1, f2, f2)))) : (-1.909256e-4f))))))));
    out[3 * n + t] = (unsigned long long)(unsigned)(((u2 >= (__byte_perm(u1, ((u0 >> ((__byte_perm((__umul24(u1, u0)), (((1527613962) ? u0 : u1)), u0 & 0x7777u)) & 31u))), ((unsigned)(unsigned char)(((((u1 / (u0 | 1u))) / 1000u)) >> 8)) & 0x7777u)))));
    out[4 * n + t] = (unsigned long long)__double_as_longlong((ceil((ceil((((__longlong_as_double(l0)) - d0)))))));
    out[5 * n + t] = (unsigned long long)(unsigned)((((__dp4a(((((__umul24(((u1 << (u0 & 31u))), u2)) & u2) | (~(__umul24(((u1 << (u0 & 31u))), u2)) & ((((__umul24(u0, u2)) >> 11) & 0x1fu))))), ((unsigned)(((((w1 | w2)) + w1)) >> 32)), u1)) - (((permuted((((((1848326339u >> (u1 & 31u))) << 9) + ((3u / (u0 | 1u))))), u1, (__funnelshift_r(((u1 * u1 + u1)), u1, u2)))) + (__usad((__brev(((u2 / (969592906u | 1u))))), (__umulhi(((2163618019u / (u1 | 1u))), (__dp4a(u1, 72u, u0)))), u1)))))));
    out[6 * n + t] = (unsigned long long)(((w2 % ((__float2ull_rn(((float)((((unsigned)(unsigned char)(u1 >> 8)) >= (permuted(u0, u0, u1))))))) | 1ull))));
    out[7 * n + t] = (unsigned long long)((((__mul64hi((__mul64hi((((__float2ll_rz(f0)) / (((min(l0, l2)) & 0xffffffffffll) + 1ll))), ((((long long)((unsigned long long)(-8662917991042588999ll) * (unsigned long long)l1)) & (llabs(l1 >> 1)))))), (-105193484553296860ll))) / 1000000007ll)));
    out[8 * n + t] = (unsigned long long)(((unsigned long long)((((long long)(__umulhi((min(u0, u0)), u2))) % ((((long long)((w0 | (__umul64hi(82ull, w2))))) & 0xffffffffffll) + 1ll)))));
    out[9 * n + t] = (unsigned long long)((((((((__umul64hi(((59ull + 84ull)), ((w2 * w1)))) % (((((i1 ^ i1)) ? (__float2ull_rn(f2)) : ((6643185761645520221ull << 13)))) | 1ull))) * w2)) >> (((int)(unsigned short)(~(__funnelshift_rc(((u1 - u1)), (min(u2, u2)), u1)))) & 63))));
    out[10 * n + t] = (unsigned long long)__double_as_longlong((__longlong_as_double((~(~(__double_as_longlong(d0)))))));
    out[11 * n + t] = (unsigned long long)(((((((((unsigned long long)((u0 * 94u + u0))) * (__double2ull_ru((rint(d1)))))) >> (((((double)((l1 >> (i2 & 63)))) > (__hiloint2double((max((-36), i1)), ((i0 ^ i0)))))) & 63))) >> (((int)((long long)(~u1))) & 63))));
    out[12 * n + t] = (unsigned long long)__float_as_uint((tanhf((__fadd_ru(f2, (__saturatef(((float)(short)(max(i1, i1))) * ((float)((long long)w0)))))))));
    out[13 * n + t] = (unsigned long long)__double_as_longlong((fmax(d1, (fmin((ceil(((((f0 < f2)) ? ((d1 > d0 ? d1 : d0)) : ((double)u0))))), (fma((__hiloint2double(((4294967227u < 117347481u)), (!((-4.196167e-6f) >= f1)))), (((-4.779034880664081e23) > (sqrt(d0)) ? (-4.779034880664081e23) : (sqrt(d0)))), (__drcp_rn(d1)))))))));
    out[14 * n + t] = (unsigned long long)__double_as_longlong((__hiloint2double((((__mul64hi((__float2ll_rz((__double2float_rd(d1)))), ((long long)((unsigned long long)(llabs(l0 >> 1)) + (unsigned long long)((l0 / 1000000007ll)))))) < (((long long)(__popc((__double2uint_rz(d1)))) * (long long)i1)))), (__ffsll((min(((((l2 % ((l0 & 0xffffffffffll) + 1ll))) % (((min(l2, (-88ll))) & 0xffffffffffll) + 1ll))), ((((long long)u2) & (~l1))))))))));
    out[15 * n + t] = (unsigned long long)__float_as_uint((hypotf((__fmul_rd((((half_product((__double2uint_rz(d1)), ((unsigned)(w0 >> 32)))) / (fmaf(-f1, f1, fabsf(((float)(-5.068645156369734e-19))))))), (((__fmul_ru((__frcp_rn(f0)), ((float)w2))) * ((float)(max(l2, l0))))))), (__int2float_ru((abs((__float2int_rn((__fmul_rz(f0, (-6.713867e-3f))))) >> 1)))))));
    out[16 * n + t] = (unsigned long long)(unsigned)((((~u2) << ((__float2uint_rz((half_product((__double2uint_rz((__longlong_as_double((56ll))))), (__float2uint_rz((fmaxf((-4.5100002e1f), f2)))))))) & 31u))));
    out[17 * n + t] = (unsigned long long)__float_as_uint((expf((half_product(u1, ((unsigned)((((__float2ull_rn(f0)) << 13)) >> 32)))))));
    out[18 * n + t] = (unsigned long long)(unsigned)((!(d1 < ((double)(unsigned char)((((__clz(((i1 / -(((-43) & 0xfff) + 2))))) ? ((((u1 + u1)) % ((min(1705524261u, u1)) | 1u))) : (__float2uint_rn((__fmul_ru(f0, (-1.2487793e-2f))))))) >> 8)))));
    out[19 * n + t] = (unsigned long long)(unsigned)((((__float2int_rn((half_of((-3.321889e8f))))) ? (__float_as_uint(f1)) : ((unsigned)(unsigned char)((((__float_as_uint(f1)) >> (((((i0 ? u2 : u1)) % 7u)) & 31u))) >> 8)))));
}
