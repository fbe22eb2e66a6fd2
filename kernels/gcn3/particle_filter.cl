// Tracking of a bright disc in an image with particles: how likely the image is at each particle, the running sum of these
// weights, and resampling: copies of particles as often as their weights say.
// Control flow: nested loops over a window with a divergent test for the disc and clamped borders; a scan with doubling steps and
// barriers of 16 waves; a binary search, whose rounds differ by lane.
// Launch: 1-D; particle_scan with one group of up to 1024 work-items.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

kernel void particle_likelihood(global const uchar *image, global const float *xs, global const float *ys, global float *weights, int particles, int width, int height, int radius, float dark, float bright, float variance)
{
    int particle = global_x();
    if (particle >= particles)
        return;
    int x = (int)__builtin_rintf(xs[particle]), y = (int)__builtin_rintf(ys[particle]);
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
    weights[particle] = __builtin_expf(sum / (2.0f * variance * pixels));
}

UP_TO(1024) kernel void particle_scan(global const float *weights, global float *sums, int particles)
{
    local float from[1024];
    local float to[1024];
    int t = local_x();
    from[t] = t < particles ? weights[t] : 0.0f;
    barrier_local();
#pragma unroll 1
    for (int step = 1; step < particles; step *= 2) {
        to[t] = t >= step ? from[t] + from[t - step] : from[t];
        barrier_local();
        from[t] = to[t];
        barrier_local();
    }
    if (t < particles)
        sums[t] = from[t];
}

kernel void particle_resample(global const float *sums, global const float *xs, global const float *ys, global float *new_xs, global float *new_ys, global int *parents, int particles, float first, float spacing)
{
    int particle = global_x();
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
