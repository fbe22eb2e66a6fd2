// All-pairs gravitation: bodies are staged through LDS tile by tile, then moved one time step.
// Control flow: a uniform loop over tiles around a fixed inner loop, partly unrolled; a group is one wave, so that no barrier is left.
// Launch: 1-D, groups of 64.
#include "device.h"

#define TILE 64

UP_TO(64) kernel void nbody_advance(global const float4 *before, global float4 *after, global float4 *velocity, int count, float dt,
                                    float softening)
{
    local float4 tile[TILE];
    int t = local_x();
    int body = group_x() * TILE + t;
    float4 self = before[body];
    float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll 1
    for (int start = 0; start < count; start += TILE) {
        tile[t] = before[start + t];
        barrier_local();
#pragma unroll 4
        for (int k = 0; k < TILE; k++) {
            float4 other = tile[k];
            float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
            float inverse = __builtin_amdgcn_rsqf(dx * dx + dy * dy + dz * dz + softening);
            float strength = other.w * inverse * inverse * inverse;
            x += dx * strength;
            y += dy * strength;
            z += dz * strength;
        }
        barrier_local();
    }
    float4 v = velocity[body];
    v.x += x * dt;
    v.y += y * dt;
    v.z += z * dt;
    velocity[body] = v;
    self.x += v.x * dt;
    self.y += v.y * dt;
    self.z += v.z * dt;
    after[body] = self;
}
