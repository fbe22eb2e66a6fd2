// Resizes an interleaved RGB image with bilinear interpolation, pixel centres aligned
// at half coordinates, one thread per output pixel in a grid-stride loop.
extern "C" __global__ void bilinear_resize(const unsigned char *src, int srcW, int srcH,
                                           unsigned char *dst, int dstW, int dstH)
{
    const float sx = (float)srcW / dstW;
    const float sy = (float)srcH / dstH;
    const size_t total = (size_t)dstW * dstH;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x) {
        int x = (int)(i % dstW);
        int y = (int)(i / dstW);
        float fx = fmaxf((x + 0.5f) * sx - 0.5f, 0.0f);
        float fy = fmaxf((y + 0.5f) * sy - 0.5f, 0.0f);
        int x0 = min((int)fx, srcW - 1);
        int y0 = min((int)fy, srcH - 1);
        int x1 = min(x0 + 1, srcW - 1);
        int y1 = min(y0 + 1, srcH - 1);
        float ax = fx - x0;
        float ay = fy - y0;
        for (int c = 0; c < 3; c++) {
            float p00 = src[((size_t)y0 * srcW + x0) * 3 + c];
            float p01 = src[((size_t)y0 * srcW + x1) * 3 + c];
            float p10 = src[((size_t)y1 * srcW + x0) * 3 + c];
            float p11 = src[((size_t)y1 * srcW + x1) * 3 + c];
            float top = p00 + ax * (p01 - p00);
            float bottom = p10 + ax * (p11 - p10);
            dst[i * 3 + c] = (unsigned char)(top + ay * (bottom - top) + 0.5f);
        }
    }
}
