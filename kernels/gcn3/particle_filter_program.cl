// The tracking of particle_filter.cl with the other two steps on the device as well: particles move by a drift and noise of a
// generator of their own, and weights are divided by their sum.
// Control flow: guards only.
// Launch: 1-D, one work-item per particle.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "particle_filter.cl"

// A number of -1/2 to 1/2 in steps of 2^-16, and the generator's next state.
static inline float noise_of(uint *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)((int)(*state >> 16) - 0x8000) / 65536.0f;
}

kernel void particle_move(global float *xs, global float *ys, global uint *states, int particles, float drift, float spread)
{
    int particle = global_x();
    if (particle >= particles)
        return;
    uint state = states[particle];
    xs[particle] += drift + spread * noise_of(&state);
    ys[particle] += spread * noise_of(&state) - 2.0f * drift;
    states[particle] = state;
}

kernel void particle_normalize(global float *weights, global const float *sums, int particles)
{
    int particle = global_x();
    if (particle < particles)
        weights[particle] = weights[particle] / sums[particles - 1];
}
