// Kernels that move much and compute little, as published measurements of sustained rates have them; kernels/microbenchmarks/rates.toml
// has the launches and the rates.
// Control flow: straight lines, loops of fixed length that are unrolled, and grid-stride loops.
// Launch: 1-D unless said; arrays are as long as the grid needs where no length is a parameter.

// One element of each array for each thread, without a comparison of indices. Nothing says that the arrays do not overlap.
template <typename Value>
__global__ void stream_copy(const Value *a, Value *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i];
}

template <typename Value>
__global__ void stream_mul(Value *b, const Value *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = Value(0.4) * c[i];
}

template <typename Value>
__global__ void stream_add(const Value *a, const Value *b, Value *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}

template <typename Value>
__global__ void stream_triad(Value *a, const Value *b, const Value *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = b[i] + Value(0.4) * c[i];
}

// Each thread adds up a strided share in shared memory, a tree adds up the block. Blocks of at most 1024 threads.
template <typename Value>
__global__ void stream_dot(const Value *a, const Value *b, Value *sums, unsigned n)
{
    __shared__ Value partial[1024];
    unsigned t = threadIdx.x;
    partial[t] = 0;
    for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x)
        partial[t] += a[i] * b[i];
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            partial[t] += partial[t + half];
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}

template __global__ void stream_copy<double>(const double *, double *);
template __global__ void stream_mul<double>(double *, const double *);
template __global__ void stream_add<double>(const double *, const double *, double *);
template __global__ void stream_triad<double>(double *, const double *, const double *);
template __global__ void stream_dot<double>(const double *, const double *, double *, unsigned);

// An element for each thread up to the length of the arrays.
extern "C" __global__ void checked_add(const float *x, const float *y, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[i];
}

// The compiler may read b and c by way of the first-level cache.
extern "C" __global__ void cached_triad(double *a, const double *__restrict__ b, const double *__restrict__ c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = b[i] + 3.0 * c[i];
}

__device__ __forceinline__ float total(float x)
{
    return x;
}

__device__ __forceinline__ float total(float2 x)
{
    return x.x + x.y;
}

__device__ __forceinline__ float total(float4 x)
{
    return x.x + x.y + x.z + x.w;
}

__device__ __forceinline__ void accumulate(float &sum, float x)
{
    sum += x;
}

__device__ __forceinline__ void accumulate(float2 &sum, float2 x)
{
    sum.x += x.x;
    sum.y += x.y;
}

__device__ __forceinline__ void accumulate(float4 &sum, float4 x)
{
    sum.x += x.x;
    sum.y += x.y;
    sum.z += x.z;
    sum.w += x.w;
}

// Sixteen reads of each thread, `step` apart; one number for each thread is written.
template <typename Value>
__device__ __forceinline__ void read_sixteen(const Value *in, float *out, unsigned at, unsigned step)
{
    Value sum = {};
#pragma unroll
    for (int i = 0; i < 16; i++) {
        accumulate(sum, in[at]);
        at += step;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = total(sum);
}

// A block reads a part of the array that is its own.
template <typename Value>
__global__ void read_by_block(const Value *in, float *out)
{
    read_sixteen(in, out, blockIdx.x * blockDim.x * 16 + threadIdx.x, blockDim.x);
}

// The grid reads the array in sixteen sweeps.
template <typename Value>
__global__ void read_by_grid(const Value *in, float *out)
{
    read_sixteen(in, out, blockIdx.x * blockDim.x + threadIdx.x, blockDim.x * gridDim.x);
}

#define READ(VALUE)                                                  \
    template __global__ void read_by_block<VALUE>(const VALUE *, float *); \
    template __global__ void read_by_grid<VALUE>(const VALUE *, float *);

READ(float)
READ(float2)
READ(float4)

// Eight reads of each thread, and no write, as no sum of products is below zero; that the compiler does not know.
template <typename Value>
__global__ void read_eight(Value *numbers)
{
    unsigned at = blockIdx.x * blockDim.x * 8 + threadIdx.x;
    Value read[8], sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        read[i] = numbers[at + i * blockDim.x];
#pragma unroll
    for (int i = 0; i < 8; i += 2)
        sum += read[i] * read[i + 1];
    if (sum == -1)
        numbers[at] = sum;
}

template __global__ void read_eight<float>(float *);
template __global__ void read_eight<double>(double *);

// The grid copies the array in sweeps. The arrays may overlap for all that the compiler knows, so that each read waits for the write before.
template <typename Value>
__global__ void copy_by_grid(const Value *in, Value *out, unsigned long long n)
{
    unsigned step = blockDim.x * gridDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        out[i] = in[i];
}

template __global__ void copy_by_grid<unsigned char>(const unsigned char *, unsigned char *, unsigned long long);
template __global__ void copy_by_grid<unsigned short>(const unsigned short *, unsigned short *, unsigned long long);
template __global__ void copy_by_grid<unsigned>(const unsigned *, unsigned *, unsigned long long);
template __global__ void copy_by_grid<unsigned long long>(const unsigned long long *, unsigned long long *, unsigned long long);

// The same, one of the arrays is read and written.
extern "C" __global__ void axpy(const unsigned *x, unsigned *y, unsigned n, unsigned a)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

// Two numbers for each thread, nothing is read.
extern "C" __global__ void write_numbers(int *out)
{
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    out[i] = i;
    i += blockDim.x;
    out[i] = i;
}

// Adds up what the threads of a block have, by a tree with a barrier after each level.
template <int BLOCK>
__device__ __forceinline__ void sum_block(unsigned sum, unsigned *sums, unsigned n)
{
    __shared__ unsigned partial[BLOCK];
    unsigned t = threadIdx.x;
    partial[t] = sum;
    __syncthreads();
#pragma unroll
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half && blockIdx.x * BLOCK + t + half < n)
            partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}

// Two elements for each thread, far apart.
template <int BLOCK>
__global__ void sum_pairs(const unsigned *in, unsigned *sums, unsigned n)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
    unsigned sum = in[i];
    i += gridDim.x * BLOCK;
    if (i < n)
        sum += in[i];
    sum_block<BLOCK>(sum, sums, n);
}

// The grid goes over the array in sweeps, four in an iteration.
template <int BLOCK>
__global__ void sum_by_grid(const unsigned *in, unsigned *sums, unsigned n)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x, step = gridDim.x * BLOCK;
    if (i >= n)
        return;
    unsigned sum = in[i];
    for (i += step; i + 3 * step < n; i += 4 * step)
        sum += in[i] + in[i + step] + in[i + 2 * step] + in[i + 3 * step];
    for (; i < n; i += step)
        sum += in[i];
    sum_block<BLOCK>(sum, sums, n);
}

#define SUM(BLOCK)                                                                           \
    template __global__ void sum_pairs<BLOCK>(const unsigned *, unsigned *, unsigned);       \
    template __global__ void sum_by_grid<BLOCK>(const unsigned *, unsigned *, unsigned);

SUM(64)
SUM(256)
SUM(1024)

template <typename Value>
__device__ __forceinline__ void exchange(Value *cells, int a, int b)
{
    Value kept = cells[b * blockDim.x];
    cells[b * blockDim.x] = cells[a * blockDim.x];
    cells[a * blockDim.x] = kept;
}

// Each thread has six cells of shared memory and exchanges neighbours: 20 accesses of a Value in an iteration, none with a conflict.
// Launch: 6 blockDim.x Values of dynamic shared memory, whose contents do not matter.
template <typename Value>
__global__ void exchange_shared(Value *out, int iterations)
{
    extern __shared__ float4 memory[];
    Value *cells = (Value *)memory + threadIdx.x;
#pragma unroll 16
    for (int i = 0; i < iterations; i++) {
        exchange(cells, 0, 1);
        exchange(cells, 2, 3);
        exchange(cells, 4, 5);
        __threadfence_block();
        exchange(cells, 1, 2);
        exchange(cells, 3, 4);
        __threadfence_block();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = cells[0];
}

template __global__ void exchange_shared<float>(float *, int);
template __global__ void exchange_shared<float2>(float2 *, int);
template __global__ void exchange_shared<float4>(float4 *, int);

// Each block goes over its own part of three arrays again and again; how long a part is decides which cache it fits in.
extern "C" __global__ void repeated_triad(double *a, double *b, double *c, unsigned long long n, unsigned long long times)
{
    a += blockIdx.x * n;
    b += blockIdx.x * n;
    c += blockIdx.x * n;
    int t = threadIdx.x, threads = blockDim.x;
    for (int i = t; i < n; i += threads) {
        a[i] = 0;
        b[i] = 3;
        c[i] = 2;
    }
    for (int k = 0; k < times; k++) {
        for (int i = t; i < n; i += threads)
            a[i] += b[i] + 2.0 * c[i];
        __syncthreads();
    }
}
