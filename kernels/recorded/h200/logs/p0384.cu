struct S { uint2 *p; unsigned h, acc; };
#define LOG(id) do { unsigned m_, c_; asm volatile("activemask.b32 %0;" : "=r"(m_) :: "memory"); CLK(c_); *s.p = make_uint2(((id) << 20) | (c_ & 0xfffffu), m_); s.p += 32; } while (0)
#if __CUDA_ARCH__ < 700
#define CLK(c) c = 0
#else
#define CLK(c) asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory")
#endif
#define D(k) (s.h = s.h * 0x9E3779B1u + k, s.h ^= s.h >> 15, s.h)

extern "C" __global__ void k(uint2 *buf, const unsigned *in, unsigned cap, unsigned *out) { unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x & 31; S s; s.p = buf + (unsigned long long)w * cap * 32 + l; s.h = in[w * 32 + l]; s.acc = 0;
LOG(1u);
if (((D(584815057u) >> 20) & 7) < 7u) {
LOG(2u);
#pragma unroll 1
for (unsigned i1 = (D(2900492403u) >> 26) & 7u; i1 > 0; i1--) {
LOG(3u);
if (((D(2121034499u) >> 23) & 7) < 2u) {
LOG(4u);
if (((D(2436759353u) >> 27) & 7) < 6u) {
LOG(5u);
break;
} else {
LOG(6u);
}
LOG(7u);
} else {
LOG(8u);
}
LOG(9u);
#pragma unroll 1
for (unsigned i2 = (D(1088518869u) >> 14) & 3u; i2 > 0; i2--) {
LOG(10u);
if (((D(1923438857u) >> 22) & 7) < 4u) {
LOG(11u);
} else {
LOG(12u);
}
LOG(13u);
}
LOG(14u);
}
LOG(15u);
} else {
LOG(16u);
#pragma unroll 1
for (unsigned i3 = (D(1320904451u) >> 9) & 3u; i3 > 0; i3--) {
LOG(17u);
{ unsigned i4 = 0;
#pragma unroll 1
while (i4++ < 3u && ((D(3907667165u) >> 16) & 7) < 4u) {
LOG(18u);
if (((D(3836475929u) >> 8) & 7) < 1u) {
LOG(19u);
continue;
}
LOG(20u);
} }
LOG(21u);
}
LOG(22u);
if (((D(2706633965u) >> 16) & 7) < 2u) {
LOG(23u);
if (((D(1454136887u) >> 16) & 7) < 4u) {
LOG(24u);
LOG(25u);
if (((D(3125066149u) >> 15) & 7) < 2u) {
LOG(26u);
}
LOG(27u);
} else {
LOG(28u);
if (((D(265227455u) >> 14) & 7) < 2u) {
LOG(29u);
} else {
LOG(30u);
}
LOG(31u);
if (((D(3047735495u) >> 20) & 7) < 6u) {
LOG(32u);
} else {
LOG(33u);
}
LOG(34u);
}
LOG(35u);
} else {
LOG(36u);
}
LOG(37u);
}
LOG(38u);
LOG(39u);
out[w * 32 + l] = s.acc ^ s.h; }
