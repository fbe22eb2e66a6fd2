// Clustering of a stream of points: what opening one more centre would save. Points that are nearer to the candidate would move;
// a centre whose other points could move as well would save its own cost by being closed.
// Control flow: a guard, a loop over dimensions, a two-sided divergent branch with atomics on each side, a tree of shuffles;
// stream_close: guarded atomics.
// Launch: 1-D, blocks of whole warps; coordinates stored by dimension; `candidate` is the index of a point.
extern "C" __global__ void stream_gain(const float *coordinates, const float *weights, const float *costs, const int *centres, int *moves,
                                       float *savings_of_centre, float *savings, int points, int dimensions, int candidate)
{
    __shared__ float place[64];
    for (int d = threadIdx.x; d < dimensions; d += blockDim.x)
        place[d] = coordinates[d * points + candidate];
    __syncthreads();
    int point = blockIdx.x * blockDim.x + threadIdx.x;
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
            atomicAdd(&savings_of_centre[centres[point]], -difference);
        }
    }
#pragma unroll
    for (int step = 16; step > 0; step >>= 1)
        saved += __shfl_down_sync(0xffffffffu, saved, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(savings, saved);
}

// Closes what is worth closing: a centre stays unless the cost of one centre is more than the price of moving its points.
extern "C" __global__ void stream_close(const float *savings_of_centre, int *closed, float *savings, int *closed_count, int centres, float opening_cost)
{
    int centre = blockIdx.x * blockDim.x + threadIdx.x;
    if (centre >= centres)
        return;
    float gain = savings_of_centre[centre] + opening_cost;
    bool close = gain > 0.0f;
    closed[centre] = close;
    if (close) {
        atomicAdd(savings, gain);
        atomicAdd(closed_count, 1);
    }
}
