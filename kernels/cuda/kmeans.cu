// Clustering step: the nearest of k centres for each point, points of any dimension.
// Control flow: nested loops with uniform trip counts from parameters, a divergent minimum (predicated).
// Launch: 1-D, one thread per point; features stored by dimension.
extern "C" __global__ void kmeans_assign(const float *features, const float *centres, int *membership, int points, int clusters, int dimensions)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points)
        return;
    int nearest = -1;
    float least = 3.4e38f;
#pragma unroll 1
    for (int cluster = 0; cluster < clusters; cluster++) {
        float distance = 0.0f;
#pragma unroll 1
        for (int d = 0; d < dimensions; d++) {
            float delta = features[d * points + point] - centres[cluster * dimensions + d];
            distance += delta * delta;
        }
        if (distance < least) {
            least = distance;
            nearest = cluster;
        }
    }
    membership[point] = nearest;
}

extern "C" __global__ void kmeans_swap(const float *by_point, float *by_dimension, int points, int dimensions)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < points)
#pragma unroll 1
        for (int d = 0; d < dimensions; d++)
            by_dimension[d * points + point] = by_point[point * dimensions + d];
}
