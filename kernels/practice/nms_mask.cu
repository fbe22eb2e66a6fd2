// Overlap masks for non-maximum suppression: a block compares 64 boxes with 64 others, and each
// thread collects a bit for every later box that overlaps its own too much.
#define PER_BLOCK 64

__device__ float overlap(const float4 a, const float4 b)
{
    float w = fmaxf(fminf(a.z, b.z) - fmaxf(a.x, b.x), 0.0f);
    float h = fmaxf(fminf(a.w, b.w) - fmaxf(a.y, b.y), 0.0f);
    float common = w * h;
    float areaA = (a.z - a.x) * (a.w - a.y);
    float areaB = (b.z - b.x) * (b.w - b.y);
    return common / (areaA + areaB - common);
}

extern "C" __global__ void nms_mask(const float4 *boxes, int numBoxes, float threshold, unsigned long long *mask)
{
    const int rowStart = blockIdx.y;
    const int colStart = blockIdx.x;
    if (rowStart > colStart)
        return;

    const int rowSize = min(numBoxes - rowStart * PER_BLOCK, PER_BLOCK);
    const int colSize = min(numBoxes - colStart * PER_BLOCK, PER_BLOCK);

    __shared__ float4 others[PER_BLOCK];
    if (threadIdx.x < colSize)
        others[threadIdx.x] = boxes[colStart * PER_BLOCK + threadIdx.x];
    __syncthreads();

    if (threadIdx.x < rowSize) {
        const int current = rowStart * PER_BLOCK + threadIdx.x;
        const float4 box = boxes[current];
        unsigned long long bits = 0;
        int start = 0;
        if (rowStart == colStart)
            start = threadIdx.x + 1;
        for (int i = start; i < colSize; i++) {
            if (overlap(box, others[i]) > threshold)
                bits |= 1ULL << i;
        }
        mask[current * gridDim.x + colStart] = bits;
    }
}
