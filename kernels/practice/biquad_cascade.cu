// Equaliser: each thread runs one audio channel through a cascade of second-order IIR
// sections (transposed direct form II). Samples are interleaved by channel.
struct Biquad {
    float b0, b1, b2, a1, a2;
};

constexpr int kSections = 4;

extern "C" __global__ void biquad_cascade(float *samples, const Biquad *sections, float *state, int channels, int frames)
{
    const int c = threadIdx.x + blockIdx.x * blockDim.x;
    if (c >= channels) return;

    float z1[kSections], z2[kSections];
    for (int s = 0; s < kSections; ++s) {
        z1[s] = state[(2 * s) * channels + c];
        z2[s] = state[(2 * s + 1) * channels + c];
    }

    for (int f = 0; f < frames; ++f) {
        float x = samples[f * channels + c];
        for (int s = 0; s < kSections; ++s) {
            const Biquad q = sections[s];
            float y = q.b0 * x + z1[s];
            z1[s] = q.b1 * x - q.a1 * y + z2[s];
            z2[s] = q.b2 * x - q.a2 * y;
            x = y;
        }
        samples[f * channels + c] = fminf(fmaxf(x, -1.0f), 1.0f);
    }

    for (int s = 0; s < kSections; ++s) {
        state[(2 * s) * channels + c] = z1[s];
        state[(2 * s + 1) * channels + c] = z2[s];
    }
}
