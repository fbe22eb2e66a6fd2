// Microbenchmarks: chains of instructions of one kind, each of which needs the result of the one before, between two reads of the clock.
// What they measure on real GPUs is published; kernels/microbenchmarks has the launches and the figures.
// Control flow: straight lines of 64 links, in loops with a bound from a parameter; `spin` has no bound in the code.
// Launch: one block; one thread but for bank_conflict and latency_shuffle (a warp), shared_atomics and global_atomics (the
// threads that contend) and spin (any). The rings of the chases are made by the threads of a warp, and one of them chases.

// Nothing that touches memory is moved over it, nor other reads of the clock.
__device__ __forceinline__ unsigned now()
{
    unsigned cycle;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycle)::"memory");
    return cycle;
}

// Dependent reads of shared memory by index, with the bank conflicts that the stride gives: every word holds its own index.
extern "C" __global__ void bank_conflict(unsigned *cycles, unsigned *last, unsigned stride)
{
    __shared__ unsigned words[1024];
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x)
        words[i] = i;
    __syncthreads();
    unsigned at = threadIdx.x * stride;
    last[threadIdx.x] = at;
    unsigned begin = now();
#pragma unroll
    for (int i = 0; i < 64; i++)
        at = words[at];
    last[threadIdx.x] = at;
    cycles[threadIdx.x] = now() - begin;
}

// The same by address, in one thread: nothing but reads.
extern "C" __global__ void chase_shared(unsigned *cycles, unsigned *last)
{
    __shared__ unsigned word;
    unsigned at = (unsigned)__cvta_generic_to_shared(&word);
    word = at;
    __syncthreads();
    unsigned begin = now();
#pragma unroll
    for (int i = 0; i < 64; i++)
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
    last[0] = at;
    cycles[0] = now() - begin;
}

// A ring of pointers, `stride` bytes from one to the next, in the first `bytes` bytes.
__device__ __forceinline__ void make_ring(char *memory, unsigned bytes, unsigned stride)
{
    for (unsigned at = threadIdx.x * stride; at < bytes; at += blockDim.x * stride) {
        unsigned next = at + stride;
        *(char **)(memory + at) = memory + (next < bytes ? next : 0);
    }
    __threadfence();
    __syncthreads();
}

// Reads `warm` and then `timed` pointers (multiples of 8), each where the one before points to.
#define CHASE(NAME, LOAD)                                                                                           \
    extern "C" __global__ void NAME(unsigned *cycles, char **last, char *memory, unsigned bytes, unsigned stride, \
                                    unsigned warm, unsigned timed)                                                \
    {                                                                                                             \
        make_ring(memory, bytes, stride);                                                                         \
        if (threadIdx.x != 0)                                                                                     \
            return;                                                                                               \
        char *at = memory;                                                                                        \
        _Pragma("unroll 1") for (unsigned i = 0; i < warm; i++) asm volatile(LOAD " %0, [%0];" : "+l"(at));        \
        last[0] = at;                                                                                             \
        unsigned begin = now();                                                                                   \
        _Pragma("unroll 1") for (unsigned i = 0; i < timed; i += 8) _Pragma("unroll") for (int j = 0; j < 8; j++)  \
            asm volatile(LOAD " %0, [%0];" : "+l"(at));                                                           \
        last[1] = at;                                                                                             \
        cycles[0] = now() - begin;                                                                                \
    }

CHASE(chase_global, "ld.global.u64")
CHASE(chase_cached, "ld.global.nc.u64")

// Reads memory that holds zeros and was not touched before, `stride` bytes on each time; the sum of what it reads and
// of the strides is the next address.
extern "C" __global__ void walk_global(unsigned *cycles, const char **last, const char *memory, unsigned long long stride,
                                       unsigned timed)
{
    const char *at = memory;
    unsigned begin = now();
#pragma unroll 1
    for (unsigned i = 0; i < timed; i++) {
        unsigned zero;
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(zero) : "l"(at));
        at += stride + zero;
    }
    last[0] = at;
    cycles[0] = now() - begin;
}

// Rings of byte offsets, which the launch gives.
__constant__ unsigned rings[10240];

// Reads `warm` and then `timed` offsets (multiples of 16) from `start` on.
extern "C" __global__ void chase_constant(unsigned *cycles, unsigned *last, unsigned start, unsigned warm, unsigned timed)
{
    unsigned at = start;
#pragma unroll 1
    for (unsigned i = 0; i < warm; i++)
        asm volatile("ld.const.u32 %0, [%0];" : "+r"(at));
    last[0] = at;
    unsigned begin = now();
#pragma unroll 1
    for (unsigned i = 0; i < timed; i += 16)
#pragma unroll
        for (int j = 0; j < 16; j++)
            asm volatile("ld.const.u32 %0, [%0];" : "+r"(at));
    last[1] = at;
    cycles[0] = now() - begin;
}

// An atomic addition and a read of the same word, 32 times: the word holds its own address, and zero is added. That it is
// zero, and that words of threads are zero words apart, only the launch knows: of one word, the compiler would let one thread
// add for all.
extern "C" __global__ void shared_atomics(unsigned *cycles, unsigned *last, unsigned apart, unsigned zero)
{
    __shared__ unsigned words[32];
    unsigned at = (unsigned)__cvta_generic_to_shared(words + threadIdx.x * apart);
    words[threadIdx.x * apart] = at;
    last[threadIdx.x] = at;
    __syncthreads();
    unsigned begin = now();
#pragma unroll
    for (int i = 0; i < 32; i++) {
        asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(zero) : "memory");
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    }
    last[threadIdx.x] = at;
    cycles[threadIdx.x] = now() - begin;
}

extern "C" __global__ void global_atomics(unsigned *cycles, char **last, char **words, unsigned apart, unsigned zero)
{
    char *at = (char *)(words + threadIdx.x * apart);
    *(char **)at = at;
    last[threadIdx.x] = at;
    __syncthreads();
    unsigned begin = now();
#pragma unroll
    for (int i = 0; i < 32; i++) {
        asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(zero) : "memory");
        asm volatile("ld.global.u64 %0, [%0];" : "+l"(at)::"memory");
    }
    last[threadIdx.x] = at;
    cycles[threadIdx.x] = now() - begin;
}

// 64 times an instruction on its own result, which is %0; %1 stays.
#define LATENCY(NAME, TYPE, KIND, INSTRUCTION)                                                                \
    extern "C" __global__ void latency_##NAME(unsigned *cycles, TYPE *values)                                 \
    {                                                                                                         \
        TYPE x = values[threadIdx.x], y = values[32 + threadIdx.x];                                           \
        values[64 + threadIdx.x] = x + y;                                                                                 \
        unsigned begin = now();                                                                               \
        _Pragma("unroll") for (int i = 0; i < 64; i++) asm volatile(INSTRUCTION : "+" KIND(x) : KIND(y));     \
        values[threadIdx.x] = x;                                                                              \
        cycles[0] = now() - begin;                                                                            \
    }

LATENCY(ffma, float, "f", "fma.rn.f32 %0, %0, %1, %1;")
LATENCY(iadd, unsigned, "r", "add.u32 %0, %0, %1;")
LATENCY(shift, unsigned, "r", "shl.b32 %0, %0, %1;")
LATENCY(multiply, unsigned, "r", "mul.lo.u32 %0, %0, %1;")
LATENCY(select, unsigned, "r", "{ .reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %1, 5, p; }")
LATENCY(rsqrt, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")
LATENCY(popc, unsigned, "r", "popc.b32 %0, %0;")
LATENCY(conversion, unsigned, "r", "{ .reg .f32 f; cvt.rn.f32.u32 f, %0; mov.b32 %0, f; }")
LATENCY(dfma, double, "d", "fma.rn.f64 %0, %0, %1, %1;")
LATENCY(shuffle, unsigned, "r", "shfl.sync.bfly.b32 %0, %0, %1, 31, 0xffffffff;")
#if __CUDA_ARCH__ >= 530
LATENCY(hfma2, unsigned, "r", "fma.rn.f16x2 %0, %0, %1, %1;")
#endif

// Every thread waits until the clock is `wait` cycles further. By block: the SM, the clock at the start and at the end.
extern "C" __global__ void spin(unsigned *places, unsigned wait)
{
    extern __shared__ unsigned unused[];
    unsigned begin = now();
    while (now() - begin < wait)
        ;
    if (threadIdx.x == 0) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        places[3 * blockIdx.x] = sm;
        places[3 * blockIdx.x + 1] = begin;
        places[3 * blockIdx.x + 2] = now();
    }
}
