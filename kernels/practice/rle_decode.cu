// Expands run-length coded data. The ends of the runs are known (inclusive prefix sum of the
// lengths); each output element finds its run by binary search.
extern "C" __global__ void rle_decode(const unsigned short *symbols, const unsigned int *runEnds, int numRuns,
                                      unsigned short *output, size_t outputLength)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t pos = (size_t)blockIdx.x * blockDim.x + threadIdx.x; pos < outputLength; pos += stride) {
        int lo = 0, hi = numRuns;
        while (lo < hi) {
            int mid = (lo + hi) / 2;
            if (runEnds[mid] <= pos)
                lo = mid + 1;
            else
                hi = mid;
        }
        output[pos] = lo < numRuns ? symbols[lo] : 0;
    }
}
