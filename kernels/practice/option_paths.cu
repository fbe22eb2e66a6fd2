// Monte Carlo price of an Asian call option: xorshift generators, Box-Muller normals, the mean
// along each path, and the sum of the payoffs of each block.
__device__ unsigned int xorshift32(unsigned int &state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

__device__ float uniform(unsigned int &state)
{
    return (xorshift32(state) >> 8) * (1.0f / 16777216.0f) + 1e-7f;
}

extern "C" __global__ void option_paths(float spot, float strike, float drift, float sigma, int steps, int numPaths,
                                        unsigned int seed, float *blockSums)
{
    __shared__ float partial[128];

    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int rng = (thread + 1) * 2654435761u ^ seed;
    if (rng == 0)
        rng = 1;

    float payoff = 0.0f;
    for (int p = thread; p < numPaths; p += gridDim.x * blockDim.x) {
        float price = spot;
        float sum = 0.0f;
        for (int s = 0; s < steps; s += 2) {
            float r = sqrtf(-2.0f * logf(uniform(rng)));
            float angle = 6.2831853f * uniform(rng);
            price *= __expf(drift + sigma * r * __cosf(angle));
            sum += price;
            if (s + 1 < steps) {
                price *= __expf(drift + sigma * r * __sinf(angle));
                sum += price;
            }
        }
        payoff += fmaxf(sum / steps - strike, 0.0f);
    }

    partial[threadIdx.x] = payoff;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        blockSums[blockIdx.x] = partial[0];
}
