struct S { uint2 *p; unsigned h, acc; };
#define LOG(id) do { unsigned m_, c_; asm volatile("activemask.b32 %0;" : "=r"(m_) :: "memory"); CLK(c_); *s.p = make_uint2(((id) << 20) | (c_ & 0xfffffu), m_); s.p += 32; } while (0)
#if __CUDA_ARCH__ < 700
#define CLK(c) c = 0
#else
#define CLK(c) asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory")
#endif
#define D(k) (s.h = s.h * 0x9E3779B1u + k, s.h ^= s.h >> 15, s.h)

__device__ __noinline__ S f0(S s);
__device__ __noinline__ S f1(S s);
__device__ __noinline__ S f2(S s);
__device__ __noinline__ S f0(S s) {
LOG(1u);
if (((D(1007418387u) >> 13) & 7) < 1u) {
LOG(2u);
if (((D(3156052343u) >> 19) & 7) < 4u) {
LOG(3u);
return s;
} else {
LOG(4u);
}
LOG(5u);
} else {
LOG(6u);
}
LOG(7u);
LOG(8u);
return s; }
__device__ __noinline__ S f1(S s) {
LOG(9u);
{
if (((D(2576680377u) >> 17) & 7) < 2u) {
LOG(14u);
goto L1;
}
LOG(15u);
if (((D(1472072895u) >> 20) & 7) < 4u) {
LOG(10u);
s = f0(s);
LOG(11u);
s = f0(s);
LOG(12u);
}
LOG(13u);
}
L1: ;
LOG(16u);
LOG(17u);
return s; }
__device__ __noinline__ S f2(S s) {
LOG(18u);
{ unsigned i2 = 0;
#pragma unroll 1
while (i2++ < 8u && ((D(888361423u) >> 21) & 7) < 6u) {
LOG(19u);
s = f0(s);
LOG(20u);
s = f0(s);
LOG(21u);
} }
LOG(22u);
LOG(23u);
return s; }
extern "C" __global__ void k(uint2 *buf, const unsigned *in, unsigned cap, unsigned *out) { unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x & 31; S s; s.p = buf + (unsigned long long)w * cap * 32 + l; s.h = in[w * 32 + l]; s.acc = 0;
LOG(24u);
s = f0(s);
LOG(25u);
s = f0(s);
LOG(26u);
LOG(27u);
out[w * 32 + l] = s.acc ^ s.h; }
