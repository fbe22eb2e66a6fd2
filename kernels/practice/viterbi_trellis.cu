// Viterbi decoder of the rate 1/2 convolutional code with constraint length 7 (171, 133):
// a block decodes one frame of soft symbols, a thread keeps one of the 64 states.
#define STATES 64
#define MAX_BITS 96

extern "C" __global__ void viterbi_trellis(const signed char *symbols, unsigned char *decoded, int *finalMetric, int bits)
{
    __shared__ int metric[2][STATES];
    __shared__ unsigned char cameFrom[MAX_BITS][STATES];

    const int s = threadIdx.x;
    const signed char *soft = symbols + blockIdx.x * bits * 2;

    metric[0][s] = s == 0 ? 0 : -100000;
    __syncthreads();

    // new state s comes from (s << 1) & 63 or that plus one; the input bit is the top bit of s
    const int in = s >> 5;
    for (int t = 0; t < bits; t++) {
        int best = -2000000;
        int choice = 0;
        for (int k = 0; k < 2; k++) {
            int prev = ((s << 1) & (STATES - 1)) | k;
            int reg = (in << 6) | prev;
            int c0 = __popc(reg & 0171) & 1;
            int c1 = __popc(reg & 0133) & 1;
            int gain = (c0 ? soft[2 * t] : -soft[2 * t]) + (c1 ? soft[2 * t + 1] : -soft[2 * t + 1]);
            int m = metric[t & 1][prev] + gain;
            if (m > best) {
                best = m;
                choice = prev;
            }
        }
        metric[(t + 1) & 1][s] = best;
        cameFrom[t][s] = choice;
        __syncthreads();
    }

    if (s == 0) {
        int state = 0;
        for (int k = 1; k < STATES; k++)
            if (metric[bits & 1][k] > metric[bits & 1][state])
                state = k;
        finalMetric[blockIdx.x] = metric[bits & 1][state];
        for (int t = bits - 1; t >= 0; t--) {
            decoded[blockIdx.x * bits + t] = state >> 5;
            state = cameFrom[t][state];
        }
    }
}
