// Column sums over the upper right triangle of a c x c matrix, every second row only, plus a count of certain rows:
// the running example of Hirvisalo, "On Static Timing Analysis of GPU Kernels" (WCET 2014), Listing 1.
// Control flow: thread t runs t+1 iterations (triangular, divergent), two divergent conditions and a barrier in the loop.
// The barrier is not reached by all threads, as in the paper: fine for one warp, undefined in CUDA's rules otherwise.
// Launch: one block of c threads.
extern "C" __global__ void triangle_sum(const float *matrix, float *sums, int c)
{
    int row = 0;
    float sum = 0.0f;
    int column = threadIdx.x;
    int end = (column + 1) * c;
#pragma unroll 1
    for (int at = column; at < end; at += c) {
        if (row % (column + 1) == 0)
            sum += 1.0f;
        if (row % 2 != 0)
            sum += matrix[at];
        __syncthreads();
        row++;
    }
    sums[row - 1] = sum;
}
