// Loops in loops: rectangular, triangular (inner count depends on the outer), three levels, thread-dependent counts.
// Control flow: nested natural loops with known and unknown trip counts.
// Launch: 1-D, one thread per row.
extern "C" __global__ void nested_fixed(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a < 7; a++)
#pragma unroll 1
        for (int b = 0; b < 5; b++)
            sum += in[i + a * b] ^ sum;
    out[i] = sum;
}

extern "C" __global__ void nested_triangular(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a < n; a++) {
#pragma unroll 1
        for (int b = a; b < n; b++)
            sum += in[b * n + a] * i;
        out[i + a] = sum;
    }
}

extern "C" __global__ void nested_divergent(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a <= i % 8; a++) {
#pragma unroll 1
        for (int b = 0; b < in[a]; b++) {
            int c = n;
#pragma unroll 1
            while (c > b) {
                sum += in[c] - b;
                c -= 1 + (sum & 3);
            }
        }
        out[i + a] = sum;
    }
}
