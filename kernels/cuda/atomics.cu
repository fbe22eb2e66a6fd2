// Atomic operations on global and shared memory, with and without use of the old value, and a spin lock.
// Instructions: RED, ATOM, ATOMS, compare-and-swap. Control flow of spin_lock: a loop with no bound in the code.
// Launch: 1-D.
extern "C" __global__ void atomics(const int *in, int *out, unsigned *bits, float *sum, int n)
{
    __shared__ int low, count;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        low = n;
        count = 0;
    }
    __syncthreads();
    int value = in[i];
    atomicMin(&low, value);
    int ticket = atomicAdd(&count, 1);
    atomicOr(&bits[value & 7], 1u << (value & 31));
    atomicAdd(sum, (float)value);
    int before = atomicExch(&out[ticket], value);
    __syncthreads();
    out[i + n] = before + low + atomicCAS(&out[n], value, ticket);
}

// Adds with a compare-and-swap loop: retries until no other thread interfered.
extern "C" __global__ void cas_loop(const float *in, unsigned *cell)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned seen = *cell, expected;
    do {
        expected = seen;
        seen = atomicCAS(cell, expected, __float_as_uint(__uint_as_float(expected) * in[i]));
    } while (seen != expected);
}

// One thread per block takes a global lock.
extern "C" __global__ void spin_lock(int *lock, volatile int *data, int n)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        data[blockIdx.x] = data[0] / n;
        __threadfence();
        atomicExch(lock, 0);
    }
}
