// A loop with a divergent two-sided branch in its body, so that each iteration opens and closes a region.
// Control flow: SSY (and PBK in the second kernel) inside a loop: pushed again each iteration.
// Launch: 1-D, one thread per element; both trip counts are the same for all threads.
extern "C" __global__ void loop_repush(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        if ((value ^ j) & 1)
            value = value / (j + 3) + in[value & 63];
        else
            value = 3 * value + in[j] % (j + 5);
        out[i] = value;
    }
}

extern "C" __global__ void loop_repush_break(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
#pragma unroll 1
    for (int j = 0; j < n; j++) {
#pragma unroll 1
        for (int k = 0; k < value; k++) {
            if (in[k] == i) {
                value += k / (j + 3);
                break;
            }
            value ^= in[k + j];
        }
        out[i] = value;
    }
}
