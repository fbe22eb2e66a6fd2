// Clustering of a stream of points: what opening one more centre would save. Points that are nearer to the candidate would move;
// a centre whose other points could move as well would save its own cost by being closed.
// Control flow: a guard, a loop over dimensions, a two-sided divergent branch with atomics on each side, a tree of ds_bpermute over
// half a wave; stream_close: guarded atomics. Atomic additions of floats are loops of compare and swap.
// Launch: 1-D, groups of multiples of 32; coordinates stored by dimension; `candidate` is the index of a point.
#include "device.h"

kernel void stream_gain(global const float *coordinates, global const float *weights, global const float *costs, global const int *centres, global int *moves, global float *savings_of_centre, global float *savings, int points, int dimensions, int candidate)
{
    local float place[64];
    for (int d = local_x(); d < dimensions; d += group_size_x())
        place[d] = coordinates[d * points + candidate];
    barrier_local();
    int point = global_x();
    float saved = 0.0f;
    if (point < points) {
        float distance = 0.0f;
#pragma unroll 1
        for (int d = 0; d < dimensions; d++) {
            float delta = coordinates[d * points + point] - place[d];
            distance += delta * delta;
        }
        float difference = distance * weights[point] - costs[point];
        if (difference < 0.0f) {
            moves[point] = 1;
            saved = -difference;
        } else {
            moves[point] = 0;
            // Closing this point's centre as well would make the point move at this price.
            atomic_add(&savings_of_centre[centres[point]], -difference);
        }
    }
#pragma unroll
    for (int step = 16; step > 0; step >>= 1)
        saved += as_float(from_lane((lane_id() & 31) + step < 32 ? lane_id() + step : lane_id(), as_uint(saved)));
    if (local_x() % 32 == 0)
        atomic_add(savings, saved);
}

// Closes what is worth closing: a centre stays unless the cost of one centre is more than the price of moving its points.
kernel void stream_close(global const float *savings_of_centre, global int *closed, global float *savings, global int *closed_count, int centres, float opening_cost)
{
    int centre = global_x();
    if (centre >= centres)
        return;
    float gain = savings_of_centre[centre] + opening_cost;
    bool close = gain > 0.0f;
    closed[centre] = close;
    if (close) {
        atomic_add(savings, gain);
        atomic_add(closed_count, 1);
    }
}
