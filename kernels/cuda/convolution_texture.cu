// Two-dimensional convolution through the texture path: pixel by pixel (point filtering), two taps with one read (linear filtering
// between two pixels weighs them as two neighbouring taps ask), and rows of an image in linear memory.
// Control flow: nested loops with trip counts from parameters; reads outside of the image follow the texture's addressing mode.
// Launch: 2-D blocks, one thread per pixel; image with unnormalised coordinates.
extern "C" __global__ void convolution_texture(cudaTextureObject_t image, const float *taps, float *out, int width, int height, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int side = 2 * radius + 1;
    float sum = 0.0f;
#pragma unroll 1
    for (int dy = 0; dy < side; dy++)
#pragma unroll 1
        for (int dx = 0; dx < side; dx++)
            sum += taps[dy * side + dx] * tex2D<float>(image, x + dx - radius + 0.5f, y + dy - radius + 0.5f);
    out[y * width + x] = sum;
}

// `places` and `weights` stand for pairs of taps of a row filter: a read at `place` between two pixels, times their weight together.
extern "C" __global__ void convolution_texture_pairs(cudaTextureObject_t image, const float *places, const float *weights, float *out, int width,
                                                     int height, int pairs)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
#pragma unroll 1
    for (int pair = 0; pair < pairs; pair++)
        sum += weights[pair] * tex2D<float>(image, x + 0.5f + places[pair], y + 0.5f);
    out[y * width + x] = sum;
}

extern "C" __global__ void convolution_texture_linear(cudaTextureObject_t pixels, const float *taps, float *out, int width, int height, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
#pragma unroll 1
    for (int d = -radius; d <= radius; d++) {
        int column = min(max(x + d, 0), width - 1);
        sum += taps[d + radius] * tex1Dfetch<float>(pixels, y * width + column);
    }
    out[y * width + x] = sum;
}
