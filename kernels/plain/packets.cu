// A checksum for each packet: its length is a word of memory, at most 1500 as the protocol says.
extern "C" __global__ void packets(const unsigned char *bytes, const int *start, const unsigned short *length, unsigned *sums,
                                   int count)
{
    int packet = blockIdx.x * blockDim.x + threadIdx.x;
    if (packet >= count)
        return;
    const unsigned char *at = bytes + start[packet];
    unsigned low = 1, high = 0;
    for (int i = 0; i < length[packet]; i++) {
        low = (low + at[i]) % 65521;
        high = (high + low) % 65521;
    }
    sums[packet] = high << 16 | low;
}
