// Huffman coding: how many bits each block of symbols takes, the bits themselves, and back.
// Codes have at most 24 bits. The first bit of a word is its highest.
// Control flow: block-wide prefix sum of code lengths by shuffles; codes are put into words that may be shared with the
// neighbours by atomics; decoding is a loop over symbols around a divergent walk down the tree, bit by bit.
// Launch: huffman_lengths and huffman_encode 1-D, one thread per symbol, full warps, at most 256 threads; huffman_decode 1-D,
// one thread per chunk of symbols.
struct Code {
    unsigned bits, length;
};

extern "C" __global__ void huffman_lengths(const unsigned char *symbols, const unsigned char *lengths, unsigned *totals, int count)
{
    __shared__ unsigned total;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    if (i < count)
        atomicAdd(&total, (unsigned)lengths[symbols[i]]);
    __syncthreads();
    if (threadIdx.x == 0)
        totals[blockIdx.x] = total;
}

extern "C" __global__ void huffman_encode(const unsigned char *symbols, const Code *table, const unsigned *starts, unsigned *words, int count)
{
    const int WORDS = 256 * 24 / 32 + 2;
    __shared__ unsigned staged[WORDS];
    __shared__ unsigned warp_ends[8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    int i = blockIdx.x * blockDim.x + t;
#pragma unroll 1
    for (int word = t; word < WORDS; word += blockDim.x)
        staged[word] = 0;
    Code code = {0, 0};
    if (i < count)
        code = table[symbols[i]];
    unsigned end = code.length;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        unsigned before = __shfl_up_sync(0xffffffffu, end, step);
        if (lane >= step)
            end += before;
    }
    if (lane == 31)
        warp_ends[warp] = end;
    __syncthreads();
    unsigned start = starts[blockIdx.x];
    unsigned at = (start & 31) + end - code.length;
#pragma unroll 1
    for (int other = 0; other < warp; other++)
        at += warp_ends[other];
    if (code.length > 0) {
        unsigned long long placed = (unsigned long long)code.bits << (64 - code.length - (at & 31));
        atomicOr(&staged[at >> 5], (unsigned)(placed >> 32));
        if ((unsigned)placed != 0)
            atomicOr(&staged[(at >> 5) + 1], (unsigned)placed);
    }
    __syncthreads();
#pragma unroll 1
    for (int word = t; word < WORDS; word += blockDim.x)
        if (staged[word] != 0)
            atomicOr(&words[(start >> 5) + word], staged[word]);
}

// Two numbers per inner node of the tree, for the bits 0 and 1: another node, or below 0 the complement of a symbol.
extern "C" __global__ void huffman_decode(const unsigned *words, const short *tree, const unsigned *starts, unsigned char *symbols, int chunk,
                                          int count)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * chunk;
    if (first >= count)
        return;
    unsigned at = starts[first / chunk];
    int last = min(first + chunk, count);
#pragma unroll 1
    for (int i = first; i < last; i++) {
        int node = 0;
#pragma unroll 1
        do {
            unsigned bit = words[at >> 5] >> (31 - (at & 31)) & 1;
            node = tree[2 * node + bit];
            at++;
        } while (node >= 0);
        symbols[i] = ~node;
    }
}
