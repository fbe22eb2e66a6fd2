// Join of two relations, the second of them sorted: for each key of the first, all rows of the
// second with that key are counted, and their amounts added up.
__device__ unsigned int lowerBound(const unsigned int *__restrict__ keys, unsigned int n, unsigned int key)
{
    unsigned int first = 0;
    unsigned int count = n;
    while (count > 0) {
        unsigned int step = count / 2;
        if (keys[first + step] < key) {
            first += step + 1;
            count -= step + 1;
        } else {
            count = step;
        }
    }
    return first;
}

extern "C" __global__ void sorted_lookup(const unsigned int *__restrict__ probeKeys, unsigned int numProbes,
                                         const unsigned int *__restrict__ buildKeys, const int *__restrict__ amounts,
                                         unsigned int numBuild, unsigned int *__restrict__ matches, long long *__restrict__ totals)
{
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < numProbes; i += blockDim.x * gridDim.x) {
        unsigned int key = probeKeys[i];
        unsigned int at = lowerBound(buildKeys, numBuild, key);
        unsigned int found = 0;
        long long total = 0;
        while (at < numBuild && buildKeys[at] == key) {
            total += amounts[at];
            found++;
            at++;
        }
        matches[i] = found;
        totals[i] = total;
    }
}
