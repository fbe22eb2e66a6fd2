// Fast Walsh-Hadamard transform: radix-4 stages of one block in shared memory, then a radix-2 stage if needed.
// Control flow: a loop whose stride is divided by four each round, a uniform branch for odd powers of two.
// Launch: blocks of 2^(log2n - 2) threads, 2^log2n floats of dynamic shared memory.
extern __shared__ float values[];

extern "C" __global__ void walsh_block(const float *in, float *out, int log2n)
{
    int n = 1 << log2n;
    int base = blockIdx.x << log2n;
#pragma unroll 1
    for (int at = threadIdx.x; at < n; at += blockDim.x)
        values[at] = in[base + at];
    int t = threadIdx.x;
#pragma unroll 1
    for (int stride = n >> 2; stride > 0; stride >>= 2) {
        int low = t & (stride - 1);
        int i0 = ((t - low) << 2) + low, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
        __syncthreads();
        float a = values[i0], b = values[i1], c = values[i2], d = values[i3];
        float ac = a + c, ca = a - c, bd = b + d, db = b - d;
        values[i0] = ac + bd;
        values[i1] = ac - bd;
        values[i2] = ca + db;
        values[i3] = ca - db;
    }
    if (log2n & 1) {
        __syncthreads();
#pragma unroll 1
        for (int at = t; at < n / 2; at += blockDim.x) {
            int i0 = at << 1;
            float a = values[i0], b = values[i0 + 1];
            values[i0] = a + b;
            values[i0 + 1] = a - b;
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int at = t; at < n; at += blockDim.x)
        out[base + at] = values[at];
}

extern "C" __global__ void walsh_modulate(float *a, const float *b, int n)
{
    float scale = 1.0f / n;
#pragma unroll 1
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += blockDim.x * gridDim.x)
        a[at] *= b[at] * scale;
}
