// Internet checksum of the packets of a capture (ones' complement sum of 16-bit words in network
// order, odd lengths padded with zero), one work-item per packet.
// Options: -gline-tables-only
#include "opencl.h"

kernel void ip_checksum(global const uchar *capture, global const uint *start, global const ushort *length,
                        global ushort *checksum, int packets)
{
    int p = get_global_id(0);
    if (p >= packets)
        return;

    global const uchar *data = capture + start[p];
    int n = length[p];
    uint sum = 0;
    int i = 0;
    for (; i + 1 < n; i += 2)
        sum += (uint)data[i] << 8 | data[i + 1];
    if (n & 1)
        sum += (uint)data[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    checksum[p] = ~sum;
}
