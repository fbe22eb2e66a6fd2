// Histogram of bytes: per-block counters in shared memory, then added to the global ones.
// Control flow: strided loops; atomics on shared and global memory.
// Launch: 1-D, any block size.
extern "C" __global__ void histogram(const unsigned *words, unsigned *bins, int word_count)
{
    __shared__ unsigned local[256];
#pragma unroll 1
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        local[bin] = 0;
    __syncthreads();
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < word_count; i += blockDim.x * gridDim.x) {
        unsigned word = words[i];
        atomicAdd(&local[word & 255], 1);
        atomicAdd(&local[word >> 8 & 255], 1);
        atomicAdd(&local[word >> 16 & 255], 1);
        atomicAdd(&local[word >> 24], 1);
    }
    __syncthreads();
#pragma unroll 1
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (local[bin] != 0)
            atomicAdd(&bins[bin], local[bin]);
}
