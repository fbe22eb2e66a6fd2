// Straight-line code of a size that the launch chooses, over and over again: what instructions cost that have to be fetched.
// Control flow: a loop of 40 pieces of 1 KiB (94 FFMA that do not wait for each other, a comparison and a branch; 32 bytes
// are three instructions and their control word), which goes back to its start behind the chosen number of pieces.
// Launch: one thread.
__device__ __forceinline__ unsigned now()
{
    unsigned cycle;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycle)::"memory");
    return cycle;
}

#define LINK(PLACE) "fma.rn.f32 %" #PLACE ", %" #PLACE ", %8, %8;"
#define LINKS(TEXT) \
    asm volatile(TEXT : "+f"(a), "+f"(b), "+f"(c), "+f"(d), "+f"(e), "+f"(f), "+f"(g), "+f"(h) : "f"(y));
#define LINKS6 LINK(0) LINK(1) LINK(2) LINK(3) LINK(4) LINK(5)
#define LINKS8 LINKS6 LINK(6) LINK(7)
#define LINKS40 LINKS8 LINKS8 LINKS8 LINKS8 LINKS8
#define PIECE LINKS(LINKS40 LINKS40 LINKS8 LINKS6)
#define PIECES(N) PIECE if (pieces <= N) continue;
#define PIECES5(N) PIECES(N) PIECES(N + 1) PIECES(N + 2) PIECES(N + 3) PIECES(N + 4)

// Cycles of the loop, the first time and the second.
extern "C" __global__ void instruction_cache(unsigned *cycles, float *values, unsigned pieces, unsigned passes)
{
    float y = values[0];
    float a = y, b = y, c = y, d = y, e = y, f = y, g = y, h = y;
#pragma unroll 1
    for (int time = 0; time < 2; time++) {
        unsigned begin = now();
#pragma unroll 1
        for (unsigned i = 0; i < passes; i++) {
            PIECES5(1) PIECES5(6) PIECES5(11) PIECES5(16) PIECES5(21) PIECES5(26) PIECES5(31) PIECES5(36)
        }
        values[1] = a + b + c + d + e + f + g + h;
        cycles[time] = now() - begin;
    }
}
