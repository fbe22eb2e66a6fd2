// Bitonic sort: of one block in shared memory, and one compare-exchange step on global memory.
// Control flow: doubling and halving loops nested in each other (logarithmic trip counts), divergent swaps, barriers.
// Launch: bitonic::block one thread per element, block size a power of two up to 512; bitonic::step 1-D.
namespace bitonic {
template <typename Key>
__device__ void exchange(Key &a, Key &b, bool ascending)
{
    if ((a > b) == ascending) {
        Key swap = a;
        a = b;
        b = swap;
    }
}

template <typename Key>
__global__ void block(Key *data)
{
    __shared__ Key keys[512];
    int t = threadIdx.x;
    int base = blockIdx.x * blockDim.x;
    keys[t] = data[base + t];
    __syncthreads();
#pragma unroll 1
    for (int size = 2; size <= (int)blockDim.x; size <<= 1) {
#pragma unroll 1
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            int partner = t ^ stride;
            if (partner > t)
                exchange(keys[t], keys[partner], (t & size) == 0);
            __syncthreads();
        }
    }
    data[base + t] = keys[t];
}

template __global__ void block<int>(int *);
template __global__ void block<double>(double *);

__global__ void step(float *data, int size, int stride)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int partner = t ^ stride;
    if (partner > t)
        exchange(data[t], data[partner], (t & size) == 0);
}
}
