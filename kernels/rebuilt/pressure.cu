// Kernel of the comparisons of builds: `cargo xtask rebuilt` builds it with changes.

template <int Tag>
__global__ void pressure(const float *in, float *out, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    float sums[24];
#pragma unroll
    for (int i = 0; i < 24; i++)
        sums[i] = in[x + i * pitch];
#pragma unroll 1
    for (int step = 0; step < 8; step++) {
        float first = in[x + step];
#pragma unroll
        for (int i = 0; i < 24; i++)
            sums[i] = sums[i] * first + sums[(i + 1) % 24];
    }
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < 24; i++)
        all += sums[i] * sums[23 - i];
    out[x] = all;
}

template __global__ void pressure<1>(const float *, float *, int);
