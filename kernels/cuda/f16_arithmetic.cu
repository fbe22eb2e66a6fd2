// Half-precision pairs through PTX: polynomial and comparison on two values per register.
// Instructions: HFMA2, HADD2, HMUL2, HSETP2, conversions. Control flow: a branch on a half comparison in a loop.
// Launch: 1-D, one thread per pair.
extern "C" __global__ void f16_arithmetic(const unsigned *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i], sum = 0;
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        unsigned step = in[j];
        asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(step));
        int larger;
        asm("{ .reg .pred p, q; setp.gt.f16x2 p|q, %1, %2; selp.s32 %0, 1, 0, p; @q add.s32 %0, %0, 2; }"
            : "=r"(larger) : "r"(sum), "r"(step));
        if (larger == 3) {
            asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(sum) : "r"(x));
            out[i + j] = sum;
        } else {
            asm("add.rn.f16x2 %0, %0, %1;" : "+r"(sum) : "r"(step));
        }
    }
    out[i] = sum;
}
