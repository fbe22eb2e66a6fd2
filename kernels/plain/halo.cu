// A blur of rows: the block copies its part and a border of 3, clamped to the picture, to shared memory.
#define WIDTH 64
#define BORDER 3
extern "C" __global__ void blur_rows(const float *in, float *out, int width)
{
    __shared__ float part[WIDTH + 2 * BORDER];
    int first = blockIdx.x * WIDTH;
    for (int i = threadIdx.x; i < WIDTH + 2 * BORDER; i += blockDim.x) {
        int x = min(max(first + i - BORDER, 0), width - 1);
        part[i] = in[blockIdx.y * width + x];
    }
    __syncthreads();
    int x = first + threadIdx.x;
    if (x >= width)
        return;
    float sum = 0.0f;
    for (int k = 0; k <= 2 * BORDER; k++)
        sum += part[threadIdx.x + k];
    out[blockIdx.y * width + x] = sum / (2 * BORDER + 1);
}
