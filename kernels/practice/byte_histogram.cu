// Histogram of bytes: every block counts in shared memory, four bytes per load,
// and adds its counts to the global bins at the end.
#define BINS 256

extern "C" __global__ void byte_histogram(const unsigned int *__restrict__ data, unsigned int numBytes, unsigned int *bins)
{
    __shared__ unsigned int local[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();

    unsigned int numWords = numBytes / 4;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < numWords; i += blockDim.x * gridDim.x) {
        unsigned int w = data[i];
        atomicAdd(&local[w & 0xff], 1);
        atomicAdd(&local[(w >> 8) & 0xff], 1);
        atomicAdd(&local[(w >> 16) & 0xff], 1);
        atomicAdd(&local[w >> 24], 1);
    }
    // the last few bytes
    if (blockIdx.x == 0 && threadIdx.x < numBytes % 4) {
        const unsigned char *tail = (const unsigned char *)(data + numWords);
        atomicAdd(&local[tail[threadIdx.x]], 1);
    }
    __syncthreads();

    for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
        if (local[b] > 0)
            atomicAdd(&bins[b], local[b]);
    }
}
