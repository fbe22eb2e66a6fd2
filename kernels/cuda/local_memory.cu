// A private array indexed by data, too large for registers: insertion sort of 24 values per thread.
// Instructions: STL and LDL at computed addresses. Control flow: data-dependent inner loop.
// Launch: 1-D, one thread per group of 24 values.
extern "C" __global__ void local_memory(const int *in, int *out)
{
    int i = 24 * (blockIdx.x * blockDim.x + threadIdx.x);
    int sorted[24];
#pragma unroll 1
    for (int count = 0; count < 24; count++) {
        int value = in[i + count];
        int at = count;
#pragma unroll 1
        while (at > 0 && sorted[at - 1] > value) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = value;
    }
#pragma unroll 1
    for (int count = 0; count < 24; count++)
        out[i + count] = sorted[count];
}
