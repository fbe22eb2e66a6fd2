// Tracking of a bright disc in an image with particles: how likely the image is at each particle, the running sum of these
// weights, and resampling: copies of particles as often as their weights say.
// Control flow: nested loops over a window with a divergent test for the disc and clamped borders; a scan with doubling steps and
// barriers; a binary search, whose rounds differ by thread.
// Launch: 1-D; particle_scan with one block of up to 1024 threads.
extern "C" __global__ void particle_likelihood(const unsigned char *image, const float *xs, const float *ys, float *weights, int particles,
                                               int width, int height, int radius, float dark, float bright, float variance)
{
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle >= particles)
        return;
    int x = __float2int_rn(xs[particle]), y = __float2int_rn(ys[particle]);
    float sum = 0.0f;
    int pixels = 0;
#pragma unroll 1
    for (int dy = -radius; dy <= radius; dy++) {
#pragma unroll 1
        for (int dx = -radius; dx <= radius; dx++) {
            if (dx * dx + dy * dy > radius * radius)
                continue;
            int column = min(max(x + dx, 0), width - 1), row = min(max(y + dy, 0), height - 1);
            float value = image[row * width + column];
            // Twice the logarithm of how much likelier the pixel is as part of the disc.
            sum += (value - dark) * (value - dark) - (value - bright) * (value - bright);
            pixels++;
        }
    }
    weights[particle] = expf(sum / (2.0f * variance * pixels));
}

extern "C" __global__ void particle_scan(const float *weights, float *sums, int particles)
{
    __shared__ float from[1024], to[1024];
    int t = threadIdx.x;
    from[t] = t < particles ? weights[t] : 0.0f;
    __syncthreads();
#pragma unroll 1
    for (int step = 1; step < particles; step *= 2) {
        to[t] = t >= step ? from[t] + from[t - step] : from[t];
        __syncthreads();
        from[t] = to[t];
        __syncthreads();
    }
    if (t < particles)
        sums[t] = from[t];
}

extern "C" __global__ void particle_resample(const float *sums, const float *xs, const float *ys, float *new_xs, float *new_ys, int *parents,
                                             int particles, float first, float spacing)
{
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle >= particles)
        return;
    float mark = first + particle * spacing;
    int low = 0, high = particles - 1;
#pragma unroll 1
    while (low < high) {
        int middle = (low + high) / 2;
        if (sums[middle] > mark)
            high = middle;
        else
            low = middle + 1;
    }
    parents[particle] = low;
    new_xs[particle] = xs[low];
    new_ys[particle] = ys[low];
}
