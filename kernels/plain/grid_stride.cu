// A sum of two vectors, scaled: each thread takes every (blocks * threads)-th element.
extern "C" __global__ void scaled_sum(float scale, const float *in, float *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = scale * in[i] + out[i];
}

// As above, where threads with an odd index skip elements: they go on with the next round while others work.
extern "C" __global__ void scaled_some(float scale, const float *in, float *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (in[i] < 0.0f)
            continue;
        out[i] = scale * in[i] + out[i];
    }
}

// The first index past n of each thread: threads of a warp may have gone on for different numbers of rounds.
extern "C" __global__ void first_past(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * blockDim.x)
        ;
    out[i] = 1;
}
