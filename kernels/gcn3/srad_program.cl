// Speckle-reducing diffusion of an image with all its passes: compression and extraction by logarithm and exponential, sums of the
// image and of its squares, coefficients (srad.cl), and the step.
// Control flow: clamped neighbours, a tree with barriers.
// Launch: 1-D, one work-item per pixel, pixels stored by column; srad_sums groups of 256.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "srad.cl"

// One step along the gradients: the divergence of each pixel from its own coefficient and those of two neighbours.
kernel void srad_update(global float *image, global const float *north, global const float *south, global const float *west,
                        global const float *east, global const float *coefficient, int rows, int columns, float lambda)
{
    int at = global_x();
    if (at >= rows * columns)
        return;
    int row = at % rows, column = at / rows;
    float own = coefficient[at];
    float below = coefficient[column * rows + min(row + 1, rows - 1)];
    float right = coefficient[min(column + 1, columns - 1) * rows + row];
    float divergence = own * north[at] + below * south[at] + own * west[at] + right * east[at];
    image[at] = image[at] + 0.25f * lambda * divergence;
}

// The sum and the sum of squares of each group's pixels.
kernel void srad_sums(global const float *image, global float *sums, global float *squares, int count)
{
    local float parts[256];
    local float square_parts[256];
    int t = local_x(), at = global_x();
    float pixel = at < count ? image[at] : 0.0f;
    parts[t] = pixel;
    square_parts[t] = pixel * pixel;
    barrier_local();
#pragma unroll 1
    for (int stride = 128; stride > 0; stride >>= 1) {
        if (t < stride) {
            parts[t] += parts[t + stride];
            square_parts[t] += square_parts[t + stride];
        }
        barrier_local();
    }
    if (t == 0) {
        sums[group_x()] = parts[0];
        squares[group_x()] = square_parts[0];
    }
}

// From stored pixels of 0 to 255 to the exponentials that the diffusion works on, and back.
kernel void srad_extract(global float *image, int count)
{
    int at = global_x();
    if (at < count)
        image[at] = __builtin_expf(image[at] / 255.0f);
}

kernel void srad_compress(global float *image, int count)
{
    int at = global_x();
    if (at < count)
        image[at] = __builtin_logf(image[at]) * 255.0f;
}
