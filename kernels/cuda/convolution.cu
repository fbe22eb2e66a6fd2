// Row and column passes of a separable filter with the coefficients in constant memory; saxpy as the simplest kernel of all.
// Control flow: fixed loop over the filter taps (rolled), clamped borders, no divergence except at the edge.
// Launch: convolve_rows 2-D, one thread per pixel; saxpy 1-D.
__constant__ float taps[17];

extern "C" __global__ void convolve_rows(const float *in, float *out, int width, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width)
        return;
    float sum = 0.0f;
#pragma unroll 1
    for (int d = -8; d <= 8; d++) {
        int at = x + d * radius;
        if (at >= 0 && at < width)
            sum += in[y * width + at] * taps[d + 8];
    }
    out[y * width + x] = sum;
}

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
