// k nearest neighbours of each query point among reference points in space, brute force.
// Reference points pass through shared memory in tiles; the best K stay sorted in registers.
#define K 5
#define TILE 64

extern "C" __global__ void knn_tiled(const float3 *queries, int numQueries, const float3 *points, int numPoints,
                                     int *indices, float *distances)
{
    __shared__ float3 tile[TILE];

    int q = blockIdx.x * blockDim.x + threadIdx.x;
    float3 me = make_float3(0, 0, 0);
    if (q < numQueries)
        me = queries[q];

    float best[K];
    int index[K];
    for (int k = 0; k < K; k++) {
        best[k] = 3.4e38f;
        index[k] = -1;
    }

    for (int base = 0; base < numPoints; base += TILE) {
        int n = min(TILE, numPoints - base);
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            tile[i] = points[base + i];
        __syncthreads();

        for (int i = 0; i < n; i++) {
            float dx = tile[i].x - me.x;
            float dy = tile[i].y - me.y;
            float dz = tile[i].z - me.z;
            float d = dx * dx + dy * dy + dz * dz;
            if (d >= best[K - 1])
                continue;
            int k = K - 1;
            while (k > 0 && best[k - 1] > d) {
                best[k] = best[k - 1];
                index[k] = index[k - 1];
                k--;
            }
            best[k] = d;
            index[k] = base + i;
        }
        __syncthreads();
    }

    if (q < numQueries) {
        for (int k = 0; k < K; k++) {
            indices[q * K + k] = index[k];
            distances[q * K + k] = best[k];
        }
    }
}
