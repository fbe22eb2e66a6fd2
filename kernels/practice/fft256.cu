// Power spectrum of overlapping frames of a real signal: Hann window, radix-2 FFT of 256
// points in shared memory, squared magnitudes of the lower half.
#define N 256
#define LOG_N 8
#define PI 3.14159265358979f

extern "C" __global__ void fft256(const float *__restrict__ signal, int length, int hop, float *__restrict__ power)
{
    __shared__ float re[N];
    __shared__ float im[N];

    const int start = blockIdx.x * hop;
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        float window = 0.5f - 0.5f * cosf(2.0f * PI * i / N);
        float x = start + i < length ? signal[start + i] : 0.0f;
        unsigned int j = __brev(i) >> (32 - LOG_N);
        re[j] = x * window;
        im[j] = 0.0f;
    }
    __syncthreads();

    for (int half = 1; half < N; half *= 2) {
        for (int t = threadIdx.x; t < N / 2; t += blockDim.x) {
            int k = t % half;
            int a = (t / half) * 2 * half + k;
            int b = a + half;
            float s, c;
            __sincosf(-PI * k / half, &s, &c);
            float tr = c * re[b] - s * im[b];
            float ti = c * im[b] + s * re[b];
            re[b] = re[a] - tr;
            im[b] = im[a] - ti;
            re[a] += tr;
            im[a] += ti;
        }
        __syncthreads();
    }

    for (int i = threadIdx.x; i <= N / 2; i += blockDim.x)
        power[blockIdx.x * (N / 2 + 1) + i] = re[i] * re[i] + im[i] * im[i];
}
