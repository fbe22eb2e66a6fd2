// Decodes IMA ADPCM: each work-item expands one block of a stream, which starts with its
// predictor and step index, to 16-bit samples.
// Options: -gline-tables-only
#include "opencl.h"

constant short stepTable[89] = {
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107, 118,
    130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060, 1166,
    1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894, 6484, 7132, 7845,
    8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767};

constant char indexTable[8] = {-1, -1, -1, -1, 2, 4, 6, 8};

kernel void adpcm_decode(global const uchar *stream, global short *pcm, int blocks, int blockBytes)
{
    int b = get_global_id(0);
    if (b >= blocks)
        return;

    global const uchar *in = stream + b * blockBytes;
    global short *out = pcm + b * (blockBytes - 4) * 2;
    int predictor = (short)(in[0] | in[1] << 8);
    int index = clamp((int)in[2], 0, 88);

    for (int i = 4; i < blockBytes; i++) {
        uint byte = in[i];
        for (int part = 0; part < 2; part++) {
            uint nibble = part == 0 ? byte & 15 : byte >> 4;
            int step = stepTable[index];
            int diff = step >> 3;
            if (nibble & 1)
                diff += step >> 2;
            if (nibble & 2)
                diff += step >> 1;
            if (nibble & 4)
                diff += step;
            predictor += nibble & 8 ? -diff : diff;
            predictor = clamp(predictor, -32768, 32767);
            index = clamp(index + indexTable[nibble & 7], 0, 88);
            *out++ = predictor;
        }
    }
}
