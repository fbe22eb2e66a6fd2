// Packs unsigned values of a fixed number of bits (1 to 32) without gaps into 32-bit words;
// each thread gathers the values that overlap its word.
extern "C" __global__ void bit_pack(const unsigned int *values, unsigned int numValues, unsigned int bits,
                                    unsigned int *words, unsigned int numWords)
{
    unsigned int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= numWords)
        return;

    const unsigned int mask = bits == 32 ? 0xffffffffu : (1u << bits) - 1;
    const unsigned int firstBit = w * 32;
    unsigned int result = 0;
    unsigned int last = (firstBit + 31) / bits;
    for (unsigned int v = firstBit / bits; v <= last && v < numValues; ++v) {
        int shift = (int)(v * bits) - (int)firstBit;
        unsigned int value = values[v] & mask;
        if (shift >= 0)
            result |= value << shift;
        else
            result |= value >> -shift;
    }
    words[w] = result;
}
