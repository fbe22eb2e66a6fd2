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
if (((D(2969932037u) >> 27) & 7) < 1u) {
LOG(3u);
}
LOG(4u);
__syncwarp(__activemask());
LOG(5u);
} while (++i1 < 8u && ((D(3939129069u) >> 21) & 7) < 5u); }
LOG(6u);
LOG(7u);
return s; }
extern "C" __global__ void k(uint2 *buf, const unsigned *in, unsigned cap, unsigned *out) { unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x & 31; S s; s.p = buf + (unsigned long long)w * cap * 32 + l; s.h = in[w * 32 + l]; s.acc = 0;
LOG(8u);
s.acc += __ballot_sync(__activemask(), s.h & 1);
LOG(9u);
s = f0(s);
LOG(10u);
LOG(11u);
out[w * 32 + l] = s.acc ^ s.h; }
