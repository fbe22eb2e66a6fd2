// Mandelbrot set with smooth colouring: number of iterations until escape, with the fraction
// from the logarithm of the magnitude; points of the main cardioid are skipped.
// Options: -gline-tables-only
#include "opencl.h"

kernel void escape_time(global float *image, uint width, uint height, float centreX, float centreY, float scale, uint maxIterations)
{
    uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    float cx = centreX + ((float)x - 0.5f * width) * scale;
    float cy = centreY + ((float)y - 0.5f * height) * scale;

    float q = (cx - 0.25f) * (cx - 0.25f) + cy * cy;
    if (q * (q + (cx - 0.25f)) < 0.25f * cy * cy) {
        image[y * width + x] = (float)maxIterations;
        return;
    }

    float zx = 0.0f, zy = 0.0f, mag = 0.0f;
    uint n = 0;
    while (n < maxIterations && mag < 256.0f) {
        float t = zx * zx - zy * zy + cx;
        zy = 2.0f * zx * zy + cy;
        zx = t;
        mag = zx * zx + zy * zy;
        n++;
    }
    float value = n;
    if (mag >= 256.0f)
        value += 1.0f - native_log2(0.5f * native_log2(mag));
    image[y * width + x] = value;
}
