// Adaptive equaliser with normalised least mean squares: each work-item trains the taps of one
// channel on a known sequence and returns taps and the remaining error power.
// Options: -gline-tables-only
#include "opencl.h"

#define TAPS 8

kernel void lms_equalizer(global const float *received, global const float *wanted, global float *taps, global float *errorPower,
                          int channels, int samples, float mu)
{
    int ch = get_global_id(0);
    if (ch >= channels)
        return;

    float w[TAPS], history[TAPS];
    for (int k = 0; k < TAPS; k++) {
        w[k] = k == TAPS / 2 ? 1.0f : 0.0f;
        history[k] = 0.0f;
    }

    float total = 0.0f;
    for (int n = 0; n < samples; n++) {
        for (int k = TAPS - 1; k > 0; k--)
            history[k] = history[k - 1];
        history[0] = received[n * channels + ch];

        float y = 0.0f, power = 1e-3f;
        for (int k = 0; k < TAPS; k++) {
            y += w[k] * history[k];
            power += history[k] * history[k];
        }
        float e = wanted[n] - y;
        float g = mu * e / power;
        for (int k = 0; k < TAPS; k++)
            w[k] += g * history[k];
        if (n >= samples / 2)
            total += e * e;
    }

    for (int k = 0; k < TAPS; k++)
        taps[k * channels + ch] = w[k];
    errorPower[ch] = total / (samples - samples / 2);
}
