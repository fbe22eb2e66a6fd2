// Escape times of the Mandelbrot set.
// Control flow: a loop bounded by a parameter that threads leave at different times (the classic divergent loop).
// Launch: 2-D, one thread per pixel.
extern "C" __global__ void mandelbrot(int *escape, int width, float left, float top, float step, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = left + x * step, cy = top + y * step;
    float zx = 0.0f, zy = 0.0f;
    int round = 0;
#pragma unroll 1
    while (round < limit && zx * zx + zy * zy < 4.0f) {
        float t = zx * zx - zy * zy + cx;
        zy = 2.0f * zx * zy + cy;
        zx = t;
        round++;
    }
    escape[y * width + x] = round;
}
