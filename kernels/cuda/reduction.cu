// Sum of an array: each thread adds a strided share, warps reduce by shuffles, one warp reduces the warps.
// Control flow: grid-stride loop, unrolled shuffle tree, a branch that whole warps agree on, one thread writes.
// Launch: 1-D, BLOCK threads per block.
template <typename Value>
__device__ Value warp_sum(Value value)
{
#pragma unroll
    for (int step = 16; step > 0; step >>= 1)
        value += __shfl_down_sync(0xffffffffu, value, step);
    return value;
}

template <typename Value, int BLOCK>
__global__ void reduction(const Value *in, Value *out, int count)
{
    __shared__ Value partial[BLOCK / 32];
    Value sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < count; i += BLOCK * gridDim.x)
        sum += in[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < BLOCK / 32 ? partial[threadIdx.x] : Value(0);
        sum = warp_sum(sum);
        if (threadIdx.x == 0)
            out[blockIdx.x] = sum;
    }
}

template __global__ void reduction<int, 256>(const int *, int *, int);
template __global__ void reduction<float, 1024>(const float *, float *, int);

// The textbook tree in shared memory, with the strides halved in a loop.
extern "C" __global__ void reduction_tree(const float *in, float *out)
{
    extern __shared__ float cells[];
    int t = threadIdx.x;
    cells[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
#pragma unroll 1
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride)
            cells[t] += cells[t + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = cells[0];
}
