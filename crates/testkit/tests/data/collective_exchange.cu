// Lanes come to a shuffle in two groups, because the compiler lets them go on apart: BRA.DIV leads both to a
// WARPSYNC.COLLECTIVE. No lane of a launch may have a kind with 2 or 16 while others shuffle.

extern "C" __global__ void collective_exchange(int *out, const int *in, const int *kinds, int by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    int kind = kinds[i];
    for (int k = 0; k < n; k++) {
        if (kind & 1) {
            if (kind & 2) {
                value += out[k];
                continue;
            }
            if (kind & 16) break;
            value ^= 5;
        }
        value += 3 * __shfl_xor_sync(0xffffffff, value, by);
        __syncthreads();
        value ^= __shfl_down_sync(0xffffffff, value, 1);
    }
    value += __shfl_xor_sync(0xffffffff, value, 2);
    out[i] = value;
}
