// Loops whose conditions are the same for all threads of a block: parameter, block index, constant, shared value.
// Control flow: loops without SSY or PBK; every loop branch goes the same way for all threads of a warp.
// Launch: 1-D, one thread per element.
__constant__ int steps[16];

extern "C" __global__ void uniform_loop(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int j = 0; j < n; j++)
        sum += in[i + j * blockDim.x];
#pragma unroll 1
    for (int j = blockIdx.x; j > 0; j /= 2)
        sum *= in[j];
#pragma unroll 1
    for (int j = 0; j < 10; j++)
        sum = sum * 0.5f + j;
    out[i] = sum;
}

extern "C" __global__ void uniform_constant_loop(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int j = 0; steps[j & 15] > 0 && j < 16; j++)
        sum += in[i + steps[j]];
    out[i] = sum;
}

extern "C" __global__ void uniform_shared_loop(const int *in, int *out)
{
    __shared__ int limit;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        limit = in[blockIdx.x];
    __syncthreads();
    int sum = 0;
#pragma unroll 1
    for (int j = 0; j < limit; j++)
        sum ^= in[i + j];
    out[i] = sum;
}
