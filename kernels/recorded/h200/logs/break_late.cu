struct S { uint2 *p; unsigned h, acc; };
#define LOG(id) do { unsigned m_, c_; asm volatile("activemask.b32 %0;" : "=r"(m_) :: "memory"); CLK(c_); *s.p = make_uint2(((id) << 20) | (c_ & 0xfffffu), m_); s.p += 32; } while (0)
#if __CUDA_ARCH__ < 700
#define CLK(c) c = 0
#else
#define CLK(c) asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory")
#endif
#define D(k) (s.h = s.h * 0x9E3779B1u + k, s.h ^= s.h >> 15, s.h)

extern "C" __global__ void k(uint2 *buf, const unsigned *in, unsigned cap, unsigned *out) { unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x & 31; S s; s.p = buf + (unsigned long long)w * cap * 32 + l; s.h = in[w * 32 + l]; s.acc = 0; volatile unsigned *g = (volatile unsigned *)out + 4096 + w * 256; (void)g;
LOG(1u);
#pragma unroll 1
for (unsigned i = 0; i < 8; i++) {
LOG(2u);
 if (s.h >> i & 1) {
LOG(3u);
 if ((s.h >> (i + 8) & 3) == 2) {
LOG(4u);
 __nanosleep(600);
LOG(5u);
 break; }
LOG(6u);
 if ((s.h >> (i + 16) & 7) == 5) {
LOG(7u);
 goto OUTL; }
LOG(8u);
 } else if ((s.h >> (i + 12) & 7) == 1) {
LOG(9u);
 __nanosleep(300);
LOG(10u);
 continue; }
LOG(11u);
 s.acc = s.acc * 0x9E3779B1u + s.h; s.acc ^= s.acc >> 7;}
LOG(12u);
OUTL: ;
LOG(13u);

 out[w * 32 + l] = s.acc; }
