// Threads outside the range leave at once; some others leave from inside a loop, before a barrier-free tail.
// Control flow: predicated EXIT, EXIT inside nested divergence, EXIT inside a loop.
// Launch: 1-D, n may be smaller than the number of threads.
extern "C" __global__ void early_exit(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int value = in[i];
    if (value < 0) {
        out[i] = in[-value] / n;
        return;
    }
#pragma unroll 1
    while (value > 1) {
        if (in[value] == i) {
            out[i] = value;
            return;
        }
        value = (value & 1) ? 3 * value + 1 : value / 2;
    }
    out[i] = value - in[0];
}
