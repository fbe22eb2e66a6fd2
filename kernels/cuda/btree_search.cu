// Look-ups in a B+tree with 32 keys a node: of one key by a warp, of a range of keys by a thread.
// Nodes are rows of 32 ascending keys, the last ones the largest integer where a node is not full; an inner node's key is
// the smallest of its child's. Slots hold the children's numbers, in leaves the values.
// Control flow: a loop over the levels in which a ballot chooses the child, the same for a whole warp; a divergent binary
// search in each node, then a walk along the chain of leaves with two ways out.
// Launch: btree_find 1-D, full warps, a warp per query; btree_range 1-D, a thread per query.
extern "C" __global__ void btree_find(const int *keys, const int *slots, int levels, const int *queries, int *found, int count)
{
    int query = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (query >= count)
        return;
    int wanted = __ldg(queries + query);
    int node = 0;
#pragma unroll 1
    for (int level = 1; level < levels; level++) {
        unsigned not_larger = __ballot_sync(0xffffffffu, keys[node * 32 + lane] <= wanted);
        int which = max(__popc(not_larger) - 1, 0);
        node = __shfl_sync(0xffffffffu, slots[node * 32 + lane], which);
    }
    unsigned equal = __ballot_sync(0xffffffffu, keys[node * 32 + lane] == wanted);
    if (lane == 0)
        found[query] = equal ? slots[node * 32 + __ffs(equal) - 1] : -1;
}

// How many of a node's keys are below a limit.
__device__ __forceinline__ int keys_below(const int *keys, int limit)
{
    int low = 0, high = 32;
#pragma unroll 1
    while (low < high) {
        int middle = (low + high) >> 1;
        if (keys[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void btree_range(const int *keys, const int *slots, const int *next, int levels, const int2 *ranges, int *counts,
                                       long long *sums, int count)
{
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    if (query >= count)
        return;
    int2 range = ranges[query];
    int node = 0;
#pragma unroll 1
    for (int level = 1; level < levels; level++)
        node = slots[node * 32 + max(keys_below(keys + node * 32, range.x) - 1, 0)];
    int at = keys_below(keys + node * 32, range.x);
    int number = 0;
    long long sum = 0;
#pragma unroll 1
    while (true) {
        int key = at < 32 ? keys[node * 32 + at] : 0x7fffffff;
        if (key == 0x7fffffff) {
            node = next[node];
            at = 0;
            if (node < 0)
                break;
            continue;
        }
        if (key >= range.y)
            break;
        if (key >= range.x) {
            number++;
            sum += (long long)slots[node * 32 + at] * number;
        }
        at++;
    }
    counts[query] = number;
    sums[query] = sum;
}
