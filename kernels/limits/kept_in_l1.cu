// Walks along a ring in a small table: each load needs the one before it. The L1 cache of an SM serves all but the first
// rounds, unless something makes its lines stale, or the loads do not look it up or let a line leave early.
extern "C" __global__ void walk_again(const int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
    for (int round = 0; round < rounds; round++) {
        at = table[at] + 9;
        if (at >= words)
            at -= words;
        sum += at;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void walk_and_count(int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x < 32)
            atomicAdd(table + at, 0);
        at = table[at] + 9;
        if (at >= words)
            at -= words;
        sum += at;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void walk_and_fence(const int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
    for (int round = 0; round < rounds; round++) {
        at = table[at] + 9;
        if (at >= words)
            at -= words;
        sum += at;
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
        __threadfence();
    }
}

extern "C" __global__ void walk_volatile(const volatile int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
    for (int round = 0; round < rounds; round++) {
        at = table[at] + 9;
        if (at >= words)
            at -= words;
        sum += at;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void walk_streaming(const int *table, int *out, int words, int rounds)
{
    int sum = 0, at = threadIdx.x % words;
    for (int round = 0; round < rounds; round++) {
        at = __ldcs(table + at) + 9;
        if (at >= words)
            at -= words;
        sum += at;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
