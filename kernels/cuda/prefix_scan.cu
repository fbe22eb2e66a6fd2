// Exclusive prefix sum of one block: up-sweep and down-sweep over a tree in shared memory.
// Control flow: two loops with doubling and halving steps, a different set of threads active in each round, barriers.
// Launch: one block of n / 2 threads, n a power of two up to 1024.
extern "C" __global__ void prefix_scan(const int *in, int *out, int n)
{
    __shared__ int tree[1024];
    int t = threadIdx.x;
    tree[2 * t] = in[2 * t];
    tree[2 * t + 1] = in[2 * t + 1];
    int offset = 1;
#pragma unroll 1
    for (int active = n >> 1; active > 0; active >>= 1) {
        __syncthreads();
        if (t < active)
            tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0)
        tree[n - 1] = 0;
#pragma unroll 1
    for (int active = 1; active < n; active *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < active) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            int value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    __syncthreads();
    out[2 * t] = tree[2 * t];
    out[2 * t + 1] = tree[2 * t + 1];
}
