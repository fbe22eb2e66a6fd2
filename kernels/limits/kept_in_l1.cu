// Loads that walk over a small table again and again, so that the L1 cache of an SM serves all but the first rounds, and
// the same loads where it need not: something makes its lines stale, or the loads do not look it up or let a line leave early.
extern "C" __global__ void walk_again(const int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        sum += table[at];
        at += 9;
        if (at >= words)
            at -= words;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void walk_and_count(int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x < 32)
            atomicAdd(table + at, 1);
        else
            sum += table[at];
        at += 9;
        if (at >= words)
            at -= words;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void walk_volatile(const volatile int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        sum += table[at];
        at += 9;
        if (at >= words)
            at -= words;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void walk_streaming(const int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        sum += __ldcs(table + at);
        at += 9;
        if (at >= words)
            at -= words;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
