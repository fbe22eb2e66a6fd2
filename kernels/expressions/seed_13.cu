// 20 random expressions of seed 13; `cargo xtask expressions` writes such files.
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
    out[0 * n + t] = (unsigned long long)(unsigned)(((unsigned)(__ffsll((llabs((__double2ll_rn((sqrt(d1)))) >> 1))))));
    out[1 * n + t] = (unsigned long long)(((((((unsigned long long)(__mul64hi(((long long)((unsigned long long)l0 - (unsigned long long)(-3707871756176850034ll))), (__float2ll_rz((-1.3427734e-3f)))))) * (((unsigned long long)(__byte_perm((__sad(i0, (78), u1)), 91u, (__umulhi(u1, u1)) & 0x7777u)) * (unsigned long long)(((((u0 / (u1 | 1u))) >> 11) & 0x1fu)) + ((unsigned long long)(__mul64hi((-94ll), l1))))))) * (((unsigned long long)(min(4294967285u, u2)) * (unsigned long long)(((__byte_perm(u0, ((4294967209u << (u1 & 31u))), ((u1 << (u2 & 31u))) & 0x7777u)) / 1000u)) + ((((unsigned long long)((l2 & l0))) - ((unsigned long long)((long long)((unsigned long long)l2 + (unsigned long long)l2))))))))));
    out[2 * n + t] = (unsigned long long)(unsigned)(((unsigned)(__dp4a((__clz(((int)((unsigned)((u2 < u0)) + (unsigned)((i2 ? (-30) : (-358264742))))))), (((35ll) != (((min(l2, l0)) >> 37)))), ((i2 / -3))))));
    out[3 * n + t] = (unsigned long long)__float_as_uint((((__fadd_ru((((__double2float_rz(((double)(unsigned char)(u2 >> 8)))) < (fmaf(-((float)i0), (__fadd_rz(f2, f2)), fabsf((truncf(f1))))) ? (__double2float_rz(((double)(unsigned char)(u2 >> 8)))) : (fmaf(-((float)i0), (__fadd_rz(f2, f2)), fabsf((truncf(f1))))))), (__saturatef(((float)((double)(19))))))) * 2.0f)));
    out[4 * n + t] = (unsigned long long)__double_as_longlong((rint((__longlong_as_double((max((~(__float2ll_rz(f1))), (llabs((~l0) >> 1)))))))));
    out[5 * n + t] = (unsigned long long)(unsigned)(((int)(signed char)(__clzll((8581118971282787761ll)))));
    out[6 * n + t] = (unsigned long long)(unsigned)(((unsigned)(unsigned char)((__dp4a(((((i2 <= ((i0 || i0)))) ? (__dp4a(((u2 % 7u)), ((unsigned)(18446744073709551549ull >> 32)), u2)) : u1)), ((53u + (__funnelshift_lc((__usad(4294967261u, u2, 45u)), (__umulhi(u2, u1)), ((unsigned)(w1 >> 32)))))), ((u1 / 1000u)))) >> 8)));
    out[7 * n + t] = (unsigned long long)(unsigned)(((((unsigned)(short)((__funnelshift_r(15u, (__umulhi(u1, (permuted(u1, u2, 3569493458u)))), (((permuted(u0, 40u, 4294967207u)) * (__float_as_uint(f1)) + (((u0 >> 11) & 0x1fu)))))) >> 16)) | (((max(u1, (((__umulhi(u2, u1)) >> (((96u * u2)) & 31u))))) / 1000u)))));
    out[8 * n + t] = (unsigned long long)((max((((((__float2int_rn((__fmul_rd(f2, f1)))) ? ((((d1 >= d2)) ? (((long long)i0 * (long long)i1)) : (__double2ll_rn(d2)))) : l1)) / (((((llabs(((l2 >> (i1 & 63))) >> 1)) >> 37)) & 0xffffffffffll) + 1ll))), (-30ll))));
    out[9 * n + t] = (unsigned long long)__double_as_longlong((trunc(((((double)((int)(0u - (unsigned)((i1 ^ (-62)))))) / (__hiloint2double(((d0 > d0)), ((((int)(0u - (unsigned)i1)) >> ((__dp4a(i2, i1, i2)) & 31))))))))));
    out[10 * n + t] = (unsigned long long)__double_as_longlong((sin((fmin(d1, ((double)(__float2ll_rz((__saturatef(f2))))))))));
    out[11 * n + t] = (unsigned long long)(((18446744073709551594ull | (min(w2, ((48ull - (((__umul64hi(72ull, w0)) - ((w2 << 13)))))))))));
    out[12 * n + t] = (unsigned long long)(((((((((unsigned long long)(__usad(u2, u1, u1))) % (((((w2 ^ w2)) % (((w1 % (w2 | 1ull))) | 1ull))) | 1ull))) / (((unsigned long long)l0) | 1ull))) * (max(((w2 << (((int)((unsigned)((int)(short)i1) * (unsigned)(((74) / 16)) + (unsigned)(__double2int_rd(d2)))) & 63))), ((unsigned long long)(((__double2uint_rz(d1)) * (permuted(u2, u0, u0)) + (__float_as_uint(f0))))))))));
    out[13 * n + t] = (unsigned long long)__double_as_longlong((sin((__hiloint2double((((((max(i1, i2)) / -((((i0 & i1)) & 0xfff) + 2))) <= (__ffsll((((2236772592990521634ll) % ((l1 & 0xffffffffffll) + 1ll))))))), (__ffsll(l0)))))));
    out[14 * n + t] = (unsigned long long)(((((((((unsigned long long)u1) << 13)) + ((((((w2 + w0)) << 13)) << 13)))) | (__umul64hi(((((((7ull << 13)) ^ ((w0 ^ w0)))) << 13)), w2)))));
    out[15 * n + t] = (unsigned long long)__float_as_uint((cosf((__fmaf_ru((((3.2032e3f) * ((-((f1 * f1 + f0)))))), ((float)(unsigned char)((__byte_perm(((3735911902u / 1000u)), (__funnelshift_l(u0, u2, 3473963889u)), ((u0 / 1000u)) & 0x7777u)) >> 16)), (float_of_half((((__brev(u2)) * (__uhadd(u2, u0)))))))))));
    out[16 * n + t] = (unsigned long long)((((__double2ll_rz(((((((w0 * w2)) > ((i0 ? w1 : w2)))) ? (rint(d1)) : ((double)(__umul24(64577802u, u2))))))) & (llabs((__mul64hi((min((min(l0, l1)), (((long long)i2 * (long long)i1)))), ((long long)((unsigned long long)(((long long)i2 * (long long)i2)) - (unsigned long long)(__double_as_longlong(d2)))))) >> 1)))));
    out[17 * n + t] = (unsigned long long)(unsigned)((__mulhi((((15) / -3)), i2)));
    out[18 * n + t] = (unsigned long long)__double_as_longlong((fma(((d0 > (((((((-230604507) ^ i1 ^ i1)) ? (trunc(d0)) : (fmax(d2, d1)))) - (((__hiloint2double(i0, i1)) * ((double)f2))))) ? d0 : (((((((-230604507) ^ i1 ^ i1)) ? (trunc(d0)) : (fmax(d2, d1)))) - (((__hiloint2double(i0, i1)) * ((double)f2))))))), ((double)(__sad((__float2int_ru(((-f2)))), ((((unsigned long long)u1) <= (__float2ull_rn(f1)))), ((unsigned)(-42))))), (fabs(((double)((((i1 && i1)) ? l1 : ((long long)w2)))))))));
    out[19 * n + t] = (unsigned long long)(unsigned)(((int)(signed char)(__popc((__funnelshift_r((__float_as_uint(f1)), ((unsigned)(short)(u1 >> 16)), (__umul24((__dp4a(u1, u1, 3407221059u)), (__umul24(u2, u2))))))))));
}
