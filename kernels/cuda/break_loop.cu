// Linear search with two ways out of the loop: found, or a sentinel was met.
// Control flow: divergent loop left by break (PBK/BRK), work after the break.
// Launch: 1-D, one thread per key.
extern "C" __global__ void break_loop(const int *table, const int *keys, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int key = keys[i];
    int where = -1;
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        int entry = table[j];
        if (entry == key) {
            where = j;
            out[i + n] = entry;
            break;
        }
        if (entry < 0) {
            where = -2 - j / key;
            break;
        }
        out[i] = entry;
    }
    out[i] = where;
}
