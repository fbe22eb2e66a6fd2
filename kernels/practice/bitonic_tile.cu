// Sorts key and value pairs within tiles of 512 (bitonic network in shared memory); the last
// tile is padded with the largest key. Ties may come in any order.
#define TILE_SIZE 512
#define THREADS (TILE_SIZE / 2)

__device__ void compareExchange(unsigned int &ka, unsigned int &va, unsigned int &kb, unsigned int &vb, bool ascending)
{
    if ((ka > kb) == ascending) {
        unsigned int t = ka;
        ka = kb;
        kb = t;
        t = va;
        va = vb;
        vb = t;
    }
}

extern "C" __global__ void bitonic_tile(unsigned int *keys, unsigned int *vals, unsigned int n)
{
    __shared__ unsigned int k[TILE_SIZE];
    __shared__ unsigned int v[TILE_SIZE];

    unsigned int base = blockIdx.x * TILE_SIZE;
    for (unsigned int i = threadIdx.x; i < TILE_SIZE; i += THREADS) {
        bool in = base + i < n;
        k[i] = in ? keys[base + i] : 0xffffffff;
        v[i] = in ? vals[base + i] : 0;
    }

    for (unsigned int size = 2; size <= TILE_SIZE; size <<= 1) {
        bool ascending = (threadIdx.x & (size / 2)) == 0;
        for (unsigned int stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned int pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            compareExchange(k[pos], v[pos], k[pos + stride], v[pos + stride], ascending);
        }
    }
    __syncthreads();

    for (unsigned int i = threadIdx.x; i < TILE_SIZE; i += THREADS) {
        if (base + i < n) {
            keys[base + i] = k[i];
            vals[base + i] = v[i];
        }
    }
}
