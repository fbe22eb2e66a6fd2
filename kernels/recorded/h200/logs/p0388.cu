struct S { uint2 *p; unsigned h, acc; };
#define LOG(id) do { unsigned m_, c_; asm volatile("activemask.b32 %0;" : "=r"(m_) :: "memory"); CLK(c_); *s.p = make_uint2(((id) << 20) | (c_ & 0xfffffu), m_); s.p += 32; } while (0)
#if __CUDA_ARCH__ < 700
#define CLK(c) c = 0
#else
#define CLK(c) asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory")
#endif
#define D(k) (s.h = s.h * 0x9E3779B1u + k, s.h ^= s.h >> 15, s.h)

__device__ __noinline__ S f0(S s);
__device__ __noinline__ S f0(S s) {
LOG(1u);
{ unsigned i1 = 0;
#pragma unroll 1
do {
LOG(2u);
if (((D(46459527u) >> 18) & 7) < 1u) {
LOG(3u);
if (((D(46751197u) >> 12) & 7) < 4u) {
LOG(4u);
break;
} else {
LOG(5u);
}
LOG(6u);
} else {
LOG(7u);
}
LOG(8u);
if (((D(529019455u) >> 9) & 7) < 4u) {
LOG(9u);
} else {
LOG(10u);
}
LOG(11u);
} while (++i1 < 5u && ((D(3120308555u) >> 17) & 7) < 5u); }
LOG(12u);
{ unsigned i2 = 0;
#pragma unroll 1
do {
LOG(13u);
} while (++i2 < 3u && ((D(2002233239u) >> 27) & 7) < 3u); }
LOG(14u);
LOG(15u);
return s; }
extern "C" __global__ void k(uint2 *buf, const unsigned *in, unsigned cap, unsigned *out) { unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x & 31; S s; s.p = buf + (unsigned long long)w * cap * 32 + l; s.h = in[w * 32 + l]; s.acc = 0;
LOG(16u);
{ unsigned i3 = 0;
#pragma unroll 1
while (i3++ < 3u && ((D(1341300643u) >> 17) & 7) < 5u) {
LOG(17u);
if (((D(3365887133u) >> 20) & 7) < 3u) {
LOG(18u);
break;
}
LOG(19u);
if (((D(870466797u) >> 21) & 7) < 1u) {
LOG(20u);
continue;
}
LOG(21u);
} }
LOG(22u);
LOG(23u);
out[w * 32 + l] = s.acc ^ s.h; }
