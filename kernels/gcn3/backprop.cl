// One layer of a neural network: forward pass with a sum of the group per output, and the weight update.
// Control flow: uniform halving loop with a barrier in each round of a group of 256; a guarded extra update.
// Launch: groups of 16 x 16 work-items.
#include "device.h"

kernel void backprop_forward(global const float *input, global const float *weights, global float *partial, int hidden)
{
    local float inputs[16];
    local float terms[16][16];
    int unit = local_x(), line = local_y();
    int source = group_y() * 16 + line;
    if (unit == 0)
        inputs[line] = input[source];
    barrier_local();
    terms[line][unit] = inputs[line] * weights[source * hidden + unit];
    barrier_local();
#pragma unroll 1
    for (int stride = 1; stride < 16; stride *= 2) {
        if (line % (2 * stride) == 0)
            terms[line][unit] += terms[line + stride][unit];
        barrier_local();
    }
    if (line == 0)
        partial[group_y() * hidden + unit] = terms[0][unit];
}

kernel void backprop_adjust(global const float *delta, global const float *input, global float *weights, global float *momentum, int hidden)
{
    const float rate = 0.3f, inertia = 0.3f;
    int unit = local_x();
    int source = group_y() * 16 + local_y();
    int at = source * hidden + unit;
    float change = rate * delta[unit] * input[source] + inertia * momentum[at];
    weights[at] += change;
    momentum[at] = change;
    barrier_local();
    if (local_y() == 0 && group_y() == 0) {
        float bias = rate * delta[unit] + inertia * momentum[unit];
        weights[unit] += bias;
    }
}
