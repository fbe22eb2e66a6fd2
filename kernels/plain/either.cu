// The limit of a loop is a word of one of two buffers, and which one another word says.
extern "C" __global__ void either(const int *first, const int *second, const int *flags, int *out, int mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int *from = flags[i] ? first : second;
    int limit = from[i], sum = 0;
    for (int k = 0; k < limit; k++)
        sum += (k * k) ^ mask;
    out[i] = sum;
}
