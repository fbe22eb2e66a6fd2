// Depthwise 3x3 convolution (NCHW) with stride, zero padding, bias and ReLU6, as in mobile
// networks; one thread per output element.
constexpr int KERNEL = 3;

extern "C" __global__ void depthwise_conv(const float *__restrict__ input, const float *__restrict__ weight,
                                          const float *__restrict__ bias, float *__restrict__ output,
                                          int channels, int inH, int inW, int outH, int outW, int stride, int pad, int total)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total)
        return;

    int ow = idx % outW;
    int oh = idx / outW % outH;
    int c = idx / (outW * outH) % channels;
    int n = idx / (outW * outH * channels);

    const float *plane = input + (n * channels + c) * inH * inW;
    const float *w = weight + c * KERNEL * KERNEL;

    float sum = bias[c];
    for (int kh = 0; kh < KERNEL; ++kh) {
        int ih = oh * stride - pad + kh;
        if (ih < 0 || ih >= inH)
            continue;
        for (int kw = 0; kw < KERNEL; ++kw) {
            int iw = ow * stride - pad + kw;
            if (iw >= 0 && iw < inW)
                sum += plane[ih * inW + iw] * w[kh * KERNEL + kw];
        }
    }
    output[idx] = fminf(fmaxf(sum, 0.0f), 6.0f);
}
