// Converts packed RGB to NV12 (BT.601, limited range): a full-size luma plane followed by
// interleaved chroma at half resolution. A thread converts a 2x2 block of pixels.
__device__ int luma(int r, int g, int b)
{
    return ((66 * r + 129 * g + 25 * b + 128) >> 8) + 16;
}

extern "C" __global__ void rgb_to_nv12(const unsigned char *rgb, unsigned char *yPlane, unsigned char *uvPlane,
                                       unsigned int width, unsigned int height)
{
    unsigned int bx = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int by = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned int chromaW = (width + 1) / 2;
    unsigned int chromaH = (height + 1) / 2;
    if (bx >= chromaW || by >= chromaH)
        return;

    int r = 0, g = 0, b = 0, count = 0;
    for (unsigned int dy = 0; dy < 2; dy++) {
        for (unsigned int dx = 0; dx < 2; dx++) {
            unsigned int x = 2 * bx + dx;
            unsigned int y = 2 * by + dy;
            if (x >= width || y >= height)
                continue;
            const unsigned char *p = rgb + 3 * (y * width + x);
            yPlane[y * width + x] = (unsigned char)luma(p[0], p[1], p[2]);
            r += p[0];
            g += p[1];
            b += p[2];
            count++;
        }
    }
    r /= count;
    g /= count;
    b /= count;
    uvPlane[2 * (by * chromaW + bx)] = (unsigned char)(((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128);
    uvPlane[2 * (by * chromaW + bx) + 1] = (unsigned char)(((112 * r - 94 * g - 18 * b + 128) >> 8) + 128);
}
