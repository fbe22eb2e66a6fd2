// 20 random expressions of seed 5; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)(((long long)((unsigned long long)(max(((long long)((unsigned long long)((long long)((unsigned long long)((long long)i0) - (unsigned long long)(~l2))) + (unsigned long long)l1)), (((__dp4a((__dp4a(i2, i2, i0)), ((i1 % ((i0 & 0xffff) + 1))), ((int)(unsigned char)i2))) ? l2 : (max(l2, ((l0 / 1000000007ll)))))))) * (unsigned long long)(~(__float2ll_rz(f2))))));
    out[1 * n + t] = (unsigned long long)(unsigned)((__dp4a(((((__sad((__hadd(((l0 != l0)), ((i0 / 16)))), (__mulhi(((i1 % ((i2 & 0xffff) + 1))), ((i0 / 16)))), (__brev((permuted(u0, u2, u0)))))) << 9) + (min(((unsigned)(((w0 / (w1 | 1ull))) >> 32)), (__funnelshift_l(((u2 | u1)), (~4037024857u), ((unsigned)(w0 >> 32)))))))), ((u0 % ((__usad(((unsigned)(short)(4294967294u >> 16)), u1, (((((u0 << 9) + u0)) >> ((__funnelshift_l(u2, u0, u0)) & 31u))))) | 1u))), ((unsigned)(((((((w2 << (i0 & 63))) / ((min(w1, w2)) | 1ull))) / (((((w0 - w0)) >> ((__double2hiint(d1)) & 63))) | 1ull))) >> 32)))));
    out[2 * n + t] = (unsigned long long)((((long long)(-64) * (long long)(((__float_as_int(f0)) <= (__ffsll(((long long)((unsigned long long)((long long)((unsigned long long)l0 - (unsigned long long)l0)) - (unsigned long long)l2)))))))));
    out[3 * n + t] = (unsigned long long)(unsigned)(((unsigned)(short)(u1 >> 16)));
    out[4 * n + t] = (unsigned long long)(unsigned)((((max((65ll), ((((((l1 / ((l1 & 0xffffffffffll) + 1ll))) >> 17)) >> 17)))) != ((long long)i0))));
    out[5 * n + t] = (unsigned long long)(unsigned)((__clz(((int)((unsigned)(__float2int_rd((__fmul_rd(f2, (__saturatef(f0 * f2)))))) << ((__popcll(((unsigned long long)l1))) & 31))))));
    out[6 * n + t] = (unsigned long long)(unsigned)((__ffsll((((1385406985) ? ((long long)((unsigned long long)(__double2ll_rn((ceil((3.66536331001891e-27))))) + (unsigned long long)((long long)((unsigned long long)(__double_as_longlong(d0)) - (unsigned long long)(__mul64hi(l1, (-3ll))))))) : ((long long)((unsigned long long)(((__double2ll_rn(d0)) & ((long long)((unsigned long long)l1 * (unsigned long long)l0)))) * (unsigned long long)((long long)(__float_as_uint(f2))))))))));
    out[7 * n + t] = (unsigned long long)__float_as_uint((float_of_half((__umul24((__umul24(((unsigned)i2), u2)), (__funnelshift_lc(u0, (__umul24(u1, ((unsigned)(short)(u2 >> 16)))), (((__sad(i1, i0, u2)) % (u2 | 1u))))))))));
    out[8 * n + t] = (unsigned long long)(unsigned)((__float2uint_rn(f0)));
    out[9 * n + t] = (unsigned long long)(((((long long)((unsigned long long)(__double2ll_rz(((double)(unsigned char)((min(u0, u0)) >> 8)))) + (unsigned long long)(__double2ll_rn(((double)(__popc(u0))))))) % ((l2 & 0xffffffffffll) + 1ll))));
    out[10 * n + t] = (unsigned long long)__double_as_longlong((((((((max(((l2 >> (i1 & 63))), (((long long)i2 * (long long)i2)))) != (max((llabs(l2 >> 1)), ((long long)u1))))) ^ (__mul24(((int)(0u - (unsigned)(max(i2, i0)))) >> 12, i2 >> 20)))) ? (((-4.4387477927363615e18) / ((((d0 + ((double)l1))) * ((double)(!i1)))))) : (rint((__longlong_as_double((__double2ll_rz((__longlong_as_double(l2)))))))))));
    out[11 * n + t] = (unsigned long long)(unsigned)((__funnelshift_r((((__umulhi((((__brev(u1)) % ((__byte_perm(u2, u0, u0 & 0x7777u)) | 1u))), u1)) * ((((u0 + (((u0 & 37u) | (~u0 & u1))))) / 1000u)))), ((u2 * (__sad(((int)((unsigned)((int)((unsigned)i0 << ((21) & 31))) * (unsigned)(__mulhi(i2, (-49))))), ((int)(__uhadd(u2, u1))), ((unsigned)((((unsigned long long)u1 * (unsigned long long)93u + 18446744073709551580ull)) >> 32)))) + ((((__float2uint_rz((rintf(f2)))) & ((unsigned)(__ffs(i1)))) | (~(__float2uint_rz((rintf(f2)))) & (~(~u2))))))), (~(__funnelshift_l(((u2 * (__funnelshift_l(78u, u1, u0)) + (~4294967234u))), ((((__double2uint_rz(d2)) << 9) + u1)), (__brev(u0))))))));
    out[12 * n + t] = (unsigned long long)(unsigned)((__sad((((__popc((__funnelshift_rc(u0, (__funnelshift_l(u2, 3943986045u, u2)), ((u2 + u2)))))) <= (((((__float2int_rd(f0)) ? ((int)(unsigned short)u0) : ((int)(unsigned short)u0))) / 16)))), (((__mul64hi(((long long)((unsigned long long)((l2 >> 17)) + (unsigned long long)l1)), (((long long)((60ull <= w2)) * (long long)i1)))) < (__double_as_longlong(d1)))), u2)));
    out[13 * n + t] = (unsigned long long)((__brevll((__double2ull_ru(((-(((__mulhi((85), i1)) ? ((double)18430368756992964376ull) : (fabs(d1)))))))))));
    out[14 * n + t] = (unsigned long long)((__double2ll_rz((__drcp_rn(((((double)((unsigned long long)u2)) - d2)))))));
    out[15 * n + t] = (unsigned long long)(unsigned)((__float_as_int(f1)));
    out[16 * n + t] = (unsigned long long)((__double_as_longlong(d2)));
    out[17 * n + t] = (unsigned long long)(((((((((((w1 % (w1 | 1ull))) >> ((-96) & 63))) | (__float2ull_rn((truncf(f0)))))) / (((((unsigned long long)((long long)w2)) << 13)) | 1ull))) * (((((__umul64hi(((unsigned long long)l0), (__umul64hi(w1, w2)))) - (__double2ull_ru((ceil((1.1915172878121787e27))))))) % (w0 | 1ull))))));
    out[18 * n + t] = (unsigned long long)((__mul64hi(((long long)((unsigned long long)(__double2ll_rn(((d2 * (2.4999027568691185e22))))) * (unsigned long long)(min(((long long)(__float2ull_rn(f0))), ((((l1 / 1000000007ll)) >> 17)))))), (__double2ll_rz((floor((sqrt(((d2 - d2)))))))))));
    out[19 * n + t] = (unsigned long long)((__brevll((max((__float2ull_rn((fmaf(-(__int2float_rz(i0)), (half_of(f2)), fabsf((sqrtf(f0))))))), ((w0 << ((__float2int_rn((rintf(f0)))) & 63))))))));
}
