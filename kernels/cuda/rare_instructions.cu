// Instructions that ordinary code seldom shows: clock reads, video (byte and half-word) arithmetic, prefetch,
// long texture forms, texture queries, many live predicates at once.
// Control flow: reading a 64-bit clock is a loop that repeats until both halves fit together (no bound in the code);
// in many_predicates conditions stay alive across calls.
// Launch: 1-D, one thread per element.
extern "C" __global__ void rare_video(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a = in[i], b = in[i + n], c = in[i + 2 * n], r, sum = 0;
    asm("vadd.s32.s32.s32.sat %0, %1.b1, %2.h1;" : "=r"(r) : "r"(a), "r"(b)); sum += r;
    asm("vsub.s32.u32.s32.sat.add %0, %1.h0, %2.b3, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); sum ^= r;
    asm("vmad.s32.s32.s32 %0, %1.h0, %2.h1, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); sum += r;
    asm("vmax.u32.u32.u32 %0, %1.b0, %2.b2;" : "=r"(r) : "r"(b), "r"(c)); sum ^= r;
    asm("vset.s32.u32.lt %0, %1.b1, %2.b1;" : "=r"(r) : "r"(a), "r"(c)); sum += r;
    asm("vshl.u32.u32.u32.clamp %0, %1, %2.b0;" : "=r"(r) : "r"(a), "r"(b)); sum ^= r;
    asm("vshr.s32.s32.u32.wrap %0, %1, %2.b1;" : "=r"(r) : "r"(b), "r"(c)); sum += r;
    out[i] = sum;
}

extern "C" __global__ void rare_clock(const float *in, float *out, long long *times, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long begin = clock64();
    unsigned short_begin = clock();
    asm volatile("prefetch.global.L2 [%0];" :: "l"(in + i + n));
    asm volatile("prefetch.global.L1 [%0];" :: "l"(in + i));
    float value = in[i];
    
    times[i] = clock64() - begin;
    times[i + n] = clock() - short_begin;
    out[i] = value;
}

extern "C" __global__ void rare_texture(cudaTextureObject_t image, cudaTextureObject_t stack, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i * 0.5f, y = i * 0.25f;
    float4 a = tex2DGrad<float4>(image, x, y, make_float2(x, 1.0f), make_float2(2.0f, y));
    float4 b = tex2DLayeredLod<float4>(stack, x, y, n, 1.5f);
    float4 c = texCubemap<float4>(image, x, y, 1.0f);
    int width;
    asm("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(image));
    float d0, d1, d2, d3;
    asm("tex.base.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];" : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3) : "l"(image), "r"(i), "r"(n));
    out[i] = make_float4(a.x + b.y, b.z + c.x, c.w * width + d0 + d1, a.y + d2 + d3);
}

__device__ __noinline__ int scramble(int x, int y)
{
    return x / (y + 1) ^ y;
}

extern "C" __global__ void many_predicates(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a = in[i], b = in[i + n];
    bool p0 = a > b, p1 = a & 1, p2 = b & 2, p3 = a < n, p4 = b == n, p5 = (a ^ b) > 9, p6 = a + b < 0, p7 = a * b > n, p8 = a - b > 3 * n;
    int r = scramble(a, b);
    out[i] = (p0 ? r : a) + (p1 ? in[r & 63] : 3) + (p2 ? r * r : b) + (p3 ? 5 : r) + (p4 ? a : 7) + (p5 ? b : r);
    r = scramble(r, n);
    if (p6)
        out[i + 1] = r;
    if (p7)
        out[i + 2] = scramble(r, a);
    if (p8 && p0)
        out[i + 3] = scramble(r, b) + (p1 ? 1 : 2) + (p5 ? r : b);
}
