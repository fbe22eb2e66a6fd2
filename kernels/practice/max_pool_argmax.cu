// Max pooling with window and stride as arguments; also stores where the maximum was, for the
// backward pass. The window is cut at the borders.
extern "C" __global__ void max_pool_argmax(const float *bottom, int planes, int height, int width, int pooledH, int pooledW,
                                           int window, int stride, float *top, int *argmax)
{
    int total = planes * pooledH * pooledW;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x) {
        int pw = i % pooledW;
        int ph = (i / pooledW) % pooledH;
        int p = i / pooledW / pooledH;

        int hstart = ph * stride;
        int wstart = pw * stride;
        int hend = min(hstart + window, height);
        int wend = min(wstart + window, width);

        const float *slice = bottom + p * height * width;
        float best = -3.4e38f;
        int where = -1;
        for (int h = hstart; h < hend; ++h) {
            for (int w = wstart; w < wend; ++w) {
                float value = slice[h * width + w];
                if (value > best) {
                    best = value;
                    where = h * width + w;
                }
            }
        }
        top[i] = best;
        argmax[i] = where;
    }
}
