// Exclusive prefix sum of each row, one block per row: warp scans with shuffles, a scan of the
// sums of the warps, and a carry from one chunk of the row to the next.
extern "C" __global__ void scan_rows(const int *__restrict__ in, int *__restrict__ out, int *__restrict__ rowTotals, int cols)
{
    __shared__ int warpSums[32];

    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int warps = blockDim.x >> 5;
    const int *src = in + (size_t)blockIdx.x * cols;
    int *dst = out + (size_t)blockIdx.x * cols;

    int carry = 0;
    for (int base = 0; base < cols; base += blockDim.x) {
        int i = base + threadIdx.x;
        int value = i < cols ? src[i] : 0;

        int sum = value;
        for (int d = 1; d < 32; d <<= 1) {
            int up = __shfl_up_sync(0xffffffff, sum, d);
            if (lane >= d)
                sum += up;
        }
        if (lane == 31)
            warpSums[warp] = sum;
        __syncthreads();

        if (warp == 0) {
            int s = lane < warps ? warpSums[lane] : 0;
            for (int d = 1; d < 32; d <<= 1) {
                int up = __shfl_up_sync(0xffffffff, s, d);
                if (lane >= d)
                    s += up;
            }
            warpSums[lane] = s;
        }
        __syncthreads();

        int before = carry + (warp > 0 ? warpSums[warp - 1] : 0);
        if (i < cols)
            dst[i] = before + sum - value;
        carry += warpSums[warps - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        rowTotals[blockIdx.x] = carry;
}
