// All-pairs gravitation: bodies are staged through shared memory tile by tile, then moved one time step.
// Control flow: a uniform loop over tiles with barriers around a fixed inner loop, partly unrolled.
// Launch: 1-D blocks of 64 threads.
namespace nbody {
const int TILE = 64;

__device__ float3 pull(float3 sum, float4 self, float4 other, float softening)
{
    float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    float strength = other.w * inverse * inverse * inverse;
    sum.x += dx * strength;
    sum.y += dy * strength;
    sum.z += dz * strength;
    return sum;
}

__global__ void advance(const float4 *before, float4 *after, float4 *velocity, int count, float dt, float softening)
{
    __shared__ float4 tile[TILE];
    int body = blockIdx.x * TILE + threadIdx.x;
    float4 self = before[body];
    float3 sum = {0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int start = 0; start < count; start += TILE) {
        tile[threadIdx.x] = before[start + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE; k++)
            sum = pull(sum, self, tile[k], softening);
        __syncthreads();
    }
    float4 v = velocity[body];
    v.x += sum.x * dt;
    v.y += sum.y * dt;
    v.z += sum.z * dt;
    velocity[body] = v;
    after[body] = make_float4(self.x + v.x * dt, self.y + v.y * dt, self.z + v.z * dt, self.w);
}
}
