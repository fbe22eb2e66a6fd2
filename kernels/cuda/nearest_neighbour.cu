// Distances from every record to one point, and the k nearest of each thread's share kept in a sorted private list.
// Control flow: a straight guarded kernel; a strided loop with a divergent insertion (break inside).
// Launch: 1-D.
struct Location {
    float latitude, longitude;
};

extern "C" __global__ void nearest_distances(const Location *records, float *distances, int count, float latitude, float longitude)
{
    int i = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
    if (i < count) {
        float dx = latitude - records[i].latitude, dy = longitude - records[i].longitude;
        distances[i] = sqrtf(dx * dx + dy * dy);
    }
}

extern "C" __global__ void nearest_few(const float *distances, float *best, int count)
{
    const int KEEP = 5;
    float kept[KEEP];
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < KEEP; k++)
        kept[k] = 3.0e38f;
#pragma unroll 1
    for (int i = thread; i < count; i += gridDim.x * blockDim.x) {
        float candidate = distances[i];
#pragma unroll 1
        for (int k = KEEP - 1; k >= 0; k--) {
            if (kept[k] <= candidate)
                break;
            if (k + 1 < KEEP)
                kept[k + 1] = kept[k];
            kept[k] = candidate;
        }
    }
    for (int k = 0; k < KEEP; k++)
        best[thread * KEEP + k] = kept[k];
}
