// Voxel grid of a point cloud in a hash table with open addressing: each point adds itself
// to the count and the coordinate sums of its voxel.
#define EMPTY 0xffffffffu

struct Grid {
    float originX, originY, originZ;
    float inverseSize;
};

__device__ unsigned int voxelKey(float3 p, const Grid &g)
{
    int ix = (int)floorf((p.x - g.originX) * g.inverseSize);
    int iy = (int)floorf((p.y - g.originY) * g.inverseSize);
    int iz = (int)floorf((p.z - g.originZ) * g.inverseSize);
    return (ix & 0x3ff) | (iy & 0x3ff) << 10 | (iz & 0x3ff) << 20;
}

__device__ unsigned int mix(unsigned int k)
{
    k ^= k >> 16;
    k *= 0x85ebca6bu;
    k ^= k >> 13;
    k *= 0xc2b2ae35u;
    k ^= k >> 16;
    return k;
}

extern "C" __global__ void voxel_hash(const float3 *points, int numPoints, Grid grid, unsigned int *keys,
                                      unsigned int *counts, float *sums, unsigned int capacity, unsigned int *dropped)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numPoints; i += gridDim.x * blockDim.x) {
        float3 p = points[i];
        unsigned int key = voxelKey(p, grid);
        unsigned int slot = mix(key) % capacity;
        bool stored = false;
        for (unsigned int probe = 0; probe < capacity; probe++) {
            unsigned int seen = atomicCAS(&keys[slot], EMPTY, key);
            if (seen == EMPTY || seen == key) {
                atomicAdd(&counts[slot], 1u);
                atomicAdd(&sums[3 * slot], p.x);
                atomicAdd(&sums[3 * slot + 1], p.y);
                atomicAdd(&sums[3 * slot + 2], p.z);
                stored = true;
                break;
            }
            slot = (slot + 1) % capacity;
        }
        if (!stored)
            atomicAdd(dropped, 1u);
    }
}
