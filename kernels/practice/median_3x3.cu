// Median filter of 3x3 pixels for 16-bit depth images. Pixels outside of the image and invalid
// pixels (zero) are skipped; the rest is sorted by insertion.
extern "C" __global__ void median_3x3(const unsigned short *depth, unsigned short *filtered, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    unsigned short window[9];
    int n = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int sx = x + dx, sy = y + dy;
            if (sx < 0 || sy < 0 || sx >= width || sy >= height)
                continue;
            unsigned short v = depth[sy * width + sx];
            if (v == 0)
                continue;
            int j = n++;
            while (j > 0 && window[j - 1] > v) {
                window[j] = window[j - 1];
                j--;
            }
            window[j] = v;
        }
    }
    filtered[y * width + x] = n == 0 ? 0 : window[n / 2];
}
