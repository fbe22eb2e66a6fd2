// Speckle-reducing diffusion of an image, one of its two passes: gradients and the diffusion coefficient per pixel.
// Control flow: clamped neighbours (v_cndmask), divisions with MODE, a two-sided clamp at the end.
// Launch: 1-D, one work-item per pixel, pixels stored by column.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

kernel void srad_coefficient(global const float *image, global float *north, global float *south, global float *west, global float *east, global float *coefficient, int rows, int columns, float noise)
{
    int at = global_x();
    if (at >= rows * columns)
        return;
    int row = at % rows, column = at / rows;
    float here = image[at];
    float n = image[column * rows + max(row - 1, 0)] - here;
    float s = image[column * rows + min(row + 1, rows - 1)] - here;
    float w = image[max(column - 1, 0) * rows + row] - here;
    float e = image[min(column + 1, columns - 1) * rows + row] - here;
    float gradient = (n * n + s * s + w * w + e * e) / (here * here);
    float laplacian = (n + s + w + e) / here;
    float spread = 0.5f * gradient - laplacian * laplacian / 16.0f;
    float base = 1.0f + 0.25f * laplacian;
    float q = (spread / (base * base) - noise) / (noise * (1.0f + noise));
    float c = 1.0f / (1.0f + q);
    if (c < 0.0f)
        c = 0.0f;
    else if (c > 1.0f)
        c = 1.0f;
    north[at] = n;
    south[at] = s;
    west[at] = w;
    east[at] = e;
    coefficient[at] = c;
}
