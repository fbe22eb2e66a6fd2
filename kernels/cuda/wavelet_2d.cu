// Wavelet transforms by lifting: the reversible 5/3 wavelet of integers along rows and along columns, and the 9/7 wavelet of
// floats along rows. Lines of any length of at least two; beyond its ends a line goes on mirrored. The lower half of the
// result is the coarse line, the upper half the details.
// Control flow: strided loops with barriers between the lifting steps; a walk down a column that keeps what the next step
// needs in registers; a loop over steps that reads its factor from initialised constant memory.
// Launch: wavelet_rows and wavelet_97 a block per row, four bytes of dynamic shared memory per column, the columns rounded
// up to a pair because the compiler loads pairs; wavelet_columns 1-D, one thread per column.
extern __shared__ int line[];
extern __shared__ float samples[];

extern "C" __global__ void wavelet_rows(const int *in, int *out, int width)
{
    in += blockIdx.x * width;
    out += blockIdx.x * width;
#pragma unroll 1
    for (int x = threadIdx.x; x < width; x += blockDim.x)
        line[x] = in[x];
    __syncthreads();
#pragma unroll 1
    for (int x = 2 * threadIdx.x + 1; x < width; x += 2 * blockDim.x) {
        int left = line[x - 1];
        int right = x + 1 < width ? line[x + 1] : left;
        line[x] -= (left + right) >> 1;
    }
    __syncthreads();
    int coarse = (width + 1) / 2;
#pragma unroll 1
    for (int x = 2 * threadIdx.x; x < width; x += 2 * blockDim.x) {
        int left = line[x > 0 ? x - 1 : 1];
        int right = line[x + 1 < width ? x + 1 : x - 1];
        out[x / 2] = line[x] + ((left + right + 2) >> 2);
        if (x + 1 < width)
            out[coarse + x / 2] = line[x + 1];
    }
}

extern "C" __global__ void wavelet_columns(const int *in, int *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width)
        return;
    int coarse = (height + 1) / 2;
    int even = in[x], before = 0;
#pragma unroll 1
    for (int y = 0; y < height; y += 2) {
        int detail = before, next = even;
        if (y + 1 < height) {
            if (y + 2 < height)
                next = in[(y + 2) * width + x];
            detail = in[(y + 1) * width + x] - ((even + next) >> 1);
            out[(coarse + y / 2) * width + x] = detail;
        }
        if (y == 0)
            before = detail;
        out[y / 2 * width + x] = even + ((before + detail + 2) >> 2);
        before = detail;
        even = next;
    }
}

__constant__ float lifting[4] = {-1.5861343f, -0.05298012f, 0.8829111f, 0.4435069f};
__constant__ float scaling = 1.1496044f;

extern "C" __global__ void wavelet_97(const float *in, float *out, int width)
{
    in += blockIdx.x * width;
    out += blockIdx.x * width;
#pragma unroll 1
    for (int x = threadIdx.x; x < width; x += blockDim.x)
        samples[x] = in[x];
#pragma unroll 1
    for (int step = 0; step < 4; step++) {
        float factor = lifting[step];
        __syncthreads();
#pragma unroll 1
        for (int x = 2 * threadIdx.x + (~step & 1); x < width; x += 2 * blockDim.x) {
            float left = samples[x > 0 ? x - 1 : 1];
            float right = samples[x + 1 < width ? x + 1 : x - 1];
            samples[x] += factor * (left + right);
        }
    }
    __syncthreads();
    int coarse = (width + 1) / 2;
#pragma unroll 1
    for (int x = threadIdx.x; x < width; x += blockDim.x) {
        if (x & 1)
            out[coarse + x / 2] = samples[x] * scaling;
        else
            out[x / 2] = samples[x] / scaling;
    }
}
