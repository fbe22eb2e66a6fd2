// Two loops written with goto.
// Control flow of goto_irreducible: a cycle with two entries (neither block of the cycle dominates the other), which
// the compiler keeps, without SSY or PBK: threads that part never wait for each other.
// Control flow of goto_cross: forward jumps that cross each other, so regions overlap without nesting.
// Launch: 1-D, one thread per element.
extern "C" __global__ void goto_irreducible(const int *in, volatile int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    if (value & 1)
        goto right;
left:
    value = in[value & 63] + out[i];
    out[i] = value / n;
    __threadfence_block();
    if (value > n)
        goto done;
right:
    value = 3 * value + out[i + 1];
    out[i + 1] = value % n;
    __threadfence();
    if (value < 5 * n)
        goto left;
done:
    out[i] = value;
}

extern "C" __global__ void goto_cross(const int *in, volatile int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    if (value & 1)
        goto middle;
    value = in[value & 63] / n;
    out[i] = value;
    if (value & 2)
        goto last;
middle:
    value += in[value & 31] % n;
    out[i + 1] = value;
    if (value & 4)
        goto done;
last:
    value -= in[value & 15] / (n + 1);
    out[i + 2] = value;
done:
    out[i] = value;
}
