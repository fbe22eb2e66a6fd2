// Four groups of lanes call one function from four places, and meet there. Each group reads one word of shared memory.
// Launch: one warp.
__shared__ unsigned words[1024];

__device__ __noinline__ unsigned read_word(unsigned at)
{
    __syncwarp();
    volatile unsigned *word = &words[at];
    unsigned sum = 0;
    for (int i = 0; i < 8; i++)
        sum = sum * 3 + *word;
    return sum;
}

extern "C" __global__ void meet_in_function(const unsigned *from, unsigned *to, unsigned a, unsigned b, unsigned c, unsigned e)
{
    unsigned lane = threadIdx.x;
    for (int i = 0; i < 1024; i += 32)
        words[i + lane] = from[i + lane];
    __syncwarp();
    unsigned sum;
    switch (from[lane + 1024] & 3) {
    case 0:
        sum = read_word(a) + from[lane + 64];
        break;
    case 1:
        sum = read_word(b) * from[lane + 128];
        break;
    case 2:
        sum = read_word(c) ^ from[lane + 192];
        break;
    default:
        sum = read_word(e) - from[lane + 256];
    }
    to[lane] = sum;
}
