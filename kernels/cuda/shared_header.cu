// Two nested loops that both begin with the same instruction.
// Control flow: one header with two back edges, so one fact for two loops of the source.
// Launch: 1-D, one block, any size.
extern "C" __global__ void shared_header(int *out, int n, int m)
{
    int i = 0, j = 0, s = 0;
    int t = threadIdx.x;
    do {
        do {
            s = s * 3 + t;
            ++j;
        } while (j % n);
        ++i;
    } while (i < m);
    out[t] = s;
}
