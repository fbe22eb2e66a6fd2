// Warp-wide comparisons, sums over lanes and 64-bit counters, as an aggregation of keys uses them.
extern "C" __global__ void warp_matches(const int *keys, const unsigned long long *wide, unsigned int *any,
                                        unsigned int *any_wide, unsigned int *all, int *sums,
                                        unsigned long long *totals, unsigned long long *olds, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned int active = __activemask();
    int key = keys[i];
    unsigned int peers = __match_any_sync(active, key);
    any[i] = peers;
    any_wide[i] = __match_any_sync(active, wide[i]);
    int same = 0;
    unsigned int agreed = __match_all_sync(active, key & 1, &same);
    int same_wide = 0;
    unsigned int agreed_wide = __match_all_sync(active, wide[i] >> 63, &same_wide);
    all[i] = agreed + 3 * agreed_wide + 5 * same + 7 * same_wide;
#if __CUDA_ARCH__ >= 800
    sums[i] = __reduce_add_sync(active, key);
#else
    int sum = key;
    for (int lane = 0; lane < 32; lane++)
        if (active >> lane & 1)
            sum += lane == (threadIdx.x & 31) ? 0 : __shfl_sync(active, key, lane);
    sums[i] = sum;
#endif
    // One lane of each group of equal keys counts for all of them.
    if (__ffs(peers) - 1 == (int)(threadIdx.x & 31)) {
        unsigned long long old = atomicAdd(&totals[key & 7], (unsigned long long)__popc(peers) << 20);
        olds[i] = old & 0;
        atomicAdd(&totals[8], 0x100000001ull);
        atomicMax(&totals[9], wide[i]);
        atomicOr(&totals[10], wide[i]);
        if (i == 0)
            olds[i] = atomicExch(&totals[11], wide[i]);
    }
}
