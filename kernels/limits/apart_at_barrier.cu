// Lanes that wait for each other in a branch leave its region early, so that they may be apart at the barrier after it.
// Launch: blocks of several warps.
extern "C" __global__ void apart_at_barrier(const int *in, int *out, int n)
{
    __shared__ int values[256];
    int i = threadIdx.x;
    int value = in[blockIdx.x * blockDim.x + i];
    if (value > n) {
        value += in[i / 2];
        __syncwarp(__activemask());
        value *= in[i / 4];
    } else {
        value = value % 5 + in[(i + 1) / 2];
    }
    values[i] = value;
    __syncthreads();
    out[blockIdx.x * blockDim.x + i] = values[blockDim.x - 1 - i];
}
