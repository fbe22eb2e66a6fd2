// Three levels of two-sided branches on independent bits of the input.
// Control flow: nested if/else, so nested reconvergence points (SSY inside SSY), some of them shared.
// Launch: 1-D, one thread per element.
extern "C" __global__ void if_else_nested(const int *in, int *out, int divisor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    int result;
    if (value & 1) {
        if (value & 2) {
            if (value & 4)
                result = value / divisor;
            else
                result = in[value & 63] / (divisor + 1);
            out[i + 1] = result;
        } else {
            result = value % (divisor + 2);
        }
        result += in[result & 31];
    } else {
        if (value & 8)
            result = in[value & 15] % (divisor + 3);
        else
            result = 7 + value / (divisor + 4);
        out[i + 2] = result;
    }
    out[i] = result;
}
