// A switch whose cases run into each other (entry in the middle of a straight line).
// Control flow: a tree of comparisons in place of a jump table; masks of lanes grow along the chain.
// Launch: 1-D, one work-item per element.
#include "device.h"

kernel void switch_fallthrough(global const int *in, global volatile int *out, int n)
{
    int i = global_x();
    int value = in[i];
    switch (in[i + n]) {
    case 6: value += in[value & 63]; out[i] = value; // fall through
    case 5: value *= n + 5; out[i] = value;          // fall through
    case 4: value ^= in[value & 31]; out[i] = value; // fall through
    case 3: value /= n; out[i] = value;              // fall through
    case 2: value += n * value; out[i] = value;      // fall through
    case 1: value -= in[value & 15]; out[i] = value; // fall through
    case 0: out[i + 1] = value;
    }
}
