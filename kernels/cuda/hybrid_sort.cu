// The parts of a sort that first splits floats into buckets and then merges: how many keys each bucket gets, a split that
// keeps the order within a bucket, sorting of four keys a thread, and merging of neighbouring runs.
// Control flow: binary searches with data-dependent trip counts; a loop over buckets with a ballot in it; straight-line
// minima and maxima; a merge in which each thread searches the place of its key in the other run.
// Launch: 1-D, one thread per key (sort_quads: per four keys). bucket_split: full warps, at most 256 threads.
namespace hybrid {
const int BUCKETS = 16;

// The number of pivots that are not larger; pivots ascend.
__device__ __forceinline__ int bucket_of(const float *pivots, float key)
{
    int low = 0, high = BUCKETS - 1;
#pragma unroll 1
    while (low < high) {
        int middle = (low + high) >> 1;
        if (pivots[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
}

extern "C" __global__ void bucket_count(const float *keys, const float *pivots, unsigned *counts, int count)
{
    __shared__ unsigned local[hybrid::BUCKETS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < hybrid::BUCKETS)
        local[threadIdx.x] = 0;
    __syncthreads();
    if (i < count)
        atomicAdd(&local[hybrid::bucket_of(pivots, keys[i])], 1u);
    __syncthreads();
    if (threadIdx.x < hybrid::BUCKETS && local[threadIdx.x] > 0)
        atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

// starts: where the keys of a bucket and a block begin, bucket by bucket.
extern "C" __global__ void bucket_split(const float *keys, const float *pivots, const unsigned *starts, float *split, int count)
{
    __shared__ float edges[hybrid::BUCKETS - 1];
    __shared__ unsigned char before[8][hybrid::BUCKETS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x < hybrid::BUCKETS - 1)
        edges[threadIdx.x] = pivots[threadIdx.x];
    __syncthreads();
    float key = 0.0f;
    int mine = -1;
    if (i < count) {
        key = keys[i];
        mine = hybrid::bucket_of(edges, key);
    }
    unsigned same = 0;
#pragma unroll 1
    for (int bucket = 0; bucket < hybrid::BUCKETS; bucket++) {
        unsigned these = __ballot_sync(0xffffffffu, mine == bucket);
        if (mine == bucket)
            same = these;
        if (lane == 0)
            before[warp][bucket] = __popc(these);
    }
    __syncthreads();
    if (mine >= 0) {
        unsigned at = starts[mine * gridDim.x + blockIdx.x] + __popc(same & ((1u << lane) - 1));
#pragma unroll 1
        for (int other = 0; other < warp; other++)
            at += before[other][mine];
        split[at] = key;
    }
}

extern "C" __global__ void sort_quads(float4 *keys, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    float4 q = keys[i];
    float a = fminf(q.x, q.y), b = fmaxf(q.x, q.y), c = fminf(q.z, q.w), d = fmaxf(q.z, q.w);
    float low = fmaxf(a, c), high = fminf(b, d);
    q.x = fminf(a, c);
    q.y = fminf(low, high);
    q.z = fmaxf(low, high);
    q.w = fmaxf(b, d);
    keys[i] = q;
}

// Runs of the given length are sorted; the last run may be shorter or have no partner.
extern "C" __global__ void merge_runs(const float *keys, float *merged, int run, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int pair = i / (2 * run) * (2 * run);
    bool is_first = i - pair < run;
    int middle = min(pair + run, count);
    int low = is_first ? middle : pair;
    int high = is_first ? min(pair + 2 * run, count) : middle;
    int other = low;
    float key = keys[i];
#pragma unroll 1
    while (low < high) {
        int at = (low + high) >> 1;
        float there = keys[at];
        // Equal keys of the first run come first.
        if (is_first ? there < key : there <= key)
            low = at + 1;
        else
            high = at;
    }
    merged[is_first ? i + low - other : i - (middle - pair) + low - other] = key;
}
