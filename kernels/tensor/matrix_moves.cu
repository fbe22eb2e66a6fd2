// Moves of matrices between registers and shared memory, and of columns within a warp. Chips: sm_75 and later.

typedef unsigned int u32;

__device__ __forceinline__ u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

extern "C" __global__ void load_matrices(const u32 *in, u32 *out)
{
    __shared__ __align__(128) u32 tile[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        tile[i] = in[i];
    __syncthreads();
    u32 address = shared_address(tile) + threadIdx.x * 16, r[4], s[4], t[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2+512];" : "=r"(r[1]), "=r"(r[2]) : "r"(address));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1+1024];" : "=r"(r[3]) : "r"(address));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2+16];" : "=r"(s[0]), "=r"(s[1]) : "r"(address));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3])
                 : "r"(address));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(s[2]) : "r"(t[0] ^ r[3]));
    s[3] = r[0] + r[1] + r[2] + t[1] + t[2] + t[3];
    out[threadIdx.x] = s[0] ^ s[1] ^ s[2] ^ s[3];
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void store_matrices(const u32 *in, u32 *out)
{
    __shared__ __align__(128) u32 tile[1024];
    u32 address = shared_address(tile) + threadIdx.x * 16;
    u32 a = in[threadIdx.x], b = a * 3, c = a * 5, d = a * 7;
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(a));
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0+512], {%1,%2};" ::"r"(address), "r"(a), "r"(b));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0+1024], {%1,%2,%3,%4};" ::"r"(address), "r"(a), "r"(b), "r"(c), "r"(d));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0+2048], {%1,%2,%3,%4};" ::"r"(address), "r"(a), "r"(b), "r"(c),
                 "r"(d));
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x * 7 % 1024];
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM110_ALL)
// Bytes, and elements of six and four bits that a load unpacks.
extern "C" __global__ void byte_matrices(const u32 *in, u32 *out)
{
    __shared__ __align__(128) u32 tile[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x)
        tile[i] = in[i];
    __syncthreads();
    u32 address = shared_address(tile) + threadIdx.x * 16, r[4], s[2];
    asm volatile("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(address));
    asm volatile("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address + r[0] % 16 * 16));
    asm volatile("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32 {%0,%1}, [%2];" : "=r"(s[0]), "=r"(s[1]) : "r"(address));
    out[threadIdx.x] = r[0] ^ r[1] ^ r[2] ^ r[3] ^ s[0] ^ s[1];
    asm volatile("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%0}, [%1];" : "=r"(s[0]) : "r"(address));
    out[threadIdx.x + 32] = s[0];
    __syncthreads();
    asm volatile("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%0], {%1,%2};" ::"r"(address), "r"(r[2]), "r"(r[3]));
    __syncthreads();
    out[threadIdx.x + 64] = tile[threadIdx.x];
}
#endif
