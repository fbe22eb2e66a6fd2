// Detection of dial tones: the Goertzel filter of each of eight frequencies over each frame of
// a phone signal. One work-item per frame and tone.
// Options: -gline-tables-only
#include "opencl.h"

#define TONES 8

kernel void goertzel_tones(global const short *samples, int frameLength, int numFrames, constant float *coefficient,
                           global float *energy)
{
    int id = get_global_id(0);
    if (id >= numFrames * TONES)
        return;
    int frame = id / TONES;
    int tone = id % TONES;

    float c = coefficient[tone];
    float q1 = 0.0f, q2 = 0.0f;
    global const short *p = samples + frame * frameLength;
    for (int n = 0; n < frameLength; n++) {
        float q0 = c * q1 - q2 + p[n] * (1.0f / 32768.0f);
        q2 = q1;
        q1 = q0;
    }
    energy[id] = q1 * q1 + q2 * q2 - c * q1 * q2;
}
