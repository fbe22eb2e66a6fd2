// One step of a gravitational N-body simulation: positions and masses pass through shared
// memory in tiles, velocities and positions are advanced (semi-implicit Euler).
#define BLOCK 64
#define SOFTENING 0.01f

__device__ float3 bodyForce(float4 me, float4 other, float3 acc)
{
    float3 r;
    r.x = other.x - me.x;
    r.y = other.y - me.y;
    r.z = other.z - me.z;
    float dist2 = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
    float inv = rsqrtf(dist2);
    float s = other.w * inv * inv * inv;
    acc.x += r.x * s;
    acc.y += r.y * s;
    acc.z += r.z * s;
    return acc;
}

extern "C" __global__ void nbody_step(const float4 *oldPos, float4 *newPos, float4 *vel, int numBodies, float dt)
{
    __shared__ float4 shared[BLOCK];

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < numBodies ? oldPos[i] : make_float4(0, 0, 0, 0);
    float3 acc = make_float3(0, 0, 0);

    for (int tile = 0; tile < gridDim.x; tile++) {
        int j = tile * BLOCK + threadIdx.x;
        shared[threadIdx.x] = j < numBodies ? oldPos[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < BLOCK; k++)
            acc = bodyForce(me, shared[k], acc);
        __syncthreads();
    }

    if (i >= numBodies)
        return;
    float4 v = vel[i];
    v.x += acc.x * dt;
    v.y += acc.y * dt;
    v.z += acc.z * dt;
    vel[i] = v;
    newPos[i] = make_float4(me.x + v.x * dt, me.y + v.y * dt, me.z + v.z * dt, me.w);
}
