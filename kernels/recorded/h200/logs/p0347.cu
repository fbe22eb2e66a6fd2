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
#pragma unroll 1
for (unsigned i1 = (D(2031982805u) >> 15) & 3u; i1 > 0; i1--) {
LOG(2u);
{ unsigned i2 = 0;
#pragma unroll 1
do {
LOG(3u);
if (((D(1335631757u) >> 19) & 7) < 3u) {
LOG(4u);
break;
}
LOG(5u);
if (((D(4081233125u) >> 27) & 7) < 3u) {
LOG(6u);
continue;
}
LOG(7u);
} while (++i2 < 8u && ((D(1828033011u) >> 21) & 7) < 6u); }
LOG(8u);
}
LOG(9u);
LOG(10u);
out[w * 32 + l] = s.acc ^ s.h; }
