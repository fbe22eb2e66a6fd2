// One two-sided branch.
// Each thread reads in[i]; even values take a chain of divisions, odd values a chain of remainders.
// Control flow: one if/else whose sides are long enough not to be turned into predicated code.
// Launch: 1-D, one thread per element.
extern "C" __global__ void if_else(const int *in, int *out, int divisor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    if ((value & 1) == 0)
        out[i] = value / divisor + in[i + 1] / (divisor + 1);
    else
        out[i] = value % (divisor + 2) - in[i + 2] % (divisor + 3);
}

// The same shape without an else side: the branch skips a long body.
extern "C" __global__ void if_only(const int *in, int *out, int divisor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    if (value > divisor) {
        out[i + 1] = in[value] / divisor;
        value = value % divisor + in[value / divisor];
    }
    out[i] = value;
}
