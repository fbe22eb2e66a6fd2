// Low-pass FIR filter of a real signal. The coefficients live in constant memory;
// samples before the start of the signal count as zero.
#define MAX_TAPS 63

__constant__ float coeff[MAX_TAPS];

extern "C" __global__ void fir_filter(const float *__restrict__ in, float *__restrict__ out, int numSamples, int numTaps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= numSamples)
        return;

    float acc = 0.0f;
    for (int k = 0; k < numTaps; k++) {
        int j = i - k;
        if (j < 0)
            break;
        acc += coeff[k] * in[j];
    }
    out[i] = acc;
}
