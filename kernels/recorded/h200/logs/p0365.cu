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
if (((D(1664760737u) >> 18) & 7) < 1u) {
LOG(2u);
if (((D(1171401471u) >> 14) & 7) < 5u) {
LOG(3u);
} else {
LOG(4u);
}
LOG(5u);
} else {
LOG(6u);
LOG(7u);
if (((D(3293634153u) >> 12) & 7) < 2u) {
LOG(8u);
} else {
LOG(9u);
}
LOG(10u);
}
LOG(11u);
#pragma unroll 1
for (unsigned i1 = (D(4129488161u) >> 24) & 7u; i1 > 0; i1--) {
LOG(12u);
if (((D(3688689273u) >> 23) & 7) < 2u) {
LOG(13u);
if (((D(1933702797u) >> 17) & 7) < 3u) {
LOG(14u);
break;
} else {
LOG(15u);
}
LOG(16u);
} else {
LOG(17u);
}
LOG(18u);
}
LOG(19u);
LOG(20u);
return s; }
extern "C" __global__ void k(uint2 *buf, const unsigned *in, unsigned cap, unsigned *out) { unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x & 31; S s; s.p = buf + (unsigned long long)w * cap * 32 + l; s.h = in[w * 32 + l]; s.acc = 0;
LOG(21u);
#pragma unroll 1
for (unsigned i2 = (D(1916567753u) >> 18) & 7u; i2 > 0; i2--) {
LOG(22u);
#pragma unroll 1
for (unsigned i3 = (D(1442963401u) >> 14) & 7u; i3 > 0; i3--) {
LOG(23u);
if (((D(527657547u) >> 15) & 7) < 1u) {
LOG(24u);
continue;
}
LOG(25u);
}
LOG(26u);
}
LOG(27u);
LOG(28u);
out[w * 32 + l] = s.acc ^ s.h; }
