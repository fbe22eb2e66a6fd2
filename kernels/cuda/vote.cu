// Warp votes: all, any, equal, ballot; a branch and a loop that depend on a vote are the same for the whole warp.
// Control flow: VOTE feeding branches; a loop left when no lane of the warp has work left.
// Launch: 1-D, full warps.
extern "C" __global__ void vote(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    if (__all_sync(0xffffffffu, value > n)) {
        out[i + 1] = in[value] % n;
        value = in[value / n];
    } else {
        value = __popc(__ballot_sync(0xffffffffu, value & 1)) / (value + 1);
    }
    int same;
    asm volatile("{ .reg .pred p, q; setp.gt.s32 p, %1, 0; vote.sync.uni.pred q, p, 0xffffffff; selp.s32 %0, 1, 0, q; }"
                 : "=r"(same) : "r"(value));
    out[i] = value + same;
}

extern "C" __global__ void vote_loop(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    int rounds = 0;
#pragma unroll 1
    while (__any_sync(0xffffffffu, value > 0)) {
        if (value > 0)
            value -= in[value % n];
        rounds++;
    }
    out[i] = rounds;
}
