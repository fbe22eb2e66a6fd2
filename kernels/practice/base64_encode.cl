// Base64 with padding: each work-item turns three bytes into four characters.
// Options: -gline-tables-only
#include "opencl.h"

constant char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

kernel void base64_encode(global const uchar *input, uint length, global char *text)
{
    uint groups = (length + 2) / 3;
    for (uint g = get_global_id(0); g < groups; g += get_global_size(0)) {
        uint bits = 0;
        uint have = min(length - 3 * g, 3u);
        for (uint k = 0; k < 3; k++)
            bits = bits << 8 | (k < have ? input[3 * g + k] : 0);
        for (uint k = 0; k < 4; k++)
            text[4 * g + k] = k <= have ? alphabet[(bits >> (18 - 6 * k)) & 63] : '=';
    }
}
