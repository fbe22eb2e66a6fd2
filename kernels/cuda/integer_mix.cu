// A tour of the integer instructions: bit fields, shifts of 64 bits, byte permutes, dot products, population counts.
// Instructions: BFE, BFI, FLO, SHF, PRMT, LOP3, IMNMX, ISCADD, VABSDIFF, VABSDIFF4, IDP, XMAD. No branches.
// Launch: 1-D, one thread per element.
extern "C" __global__ void integer_mix(const int *in, int *out, long long *wide, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a = in[i], b = in[i + n], c = in[i + 2 * n];
    int result = __byte_perm(a, b, c);
    result += __clz(a) + __ffs(b) + __brev(c);
    result ^= (a & b) | (~a & c);
    result += min(a, b) - max(b, c);
    result += __funnelshift_l(a, b, c) + __funnelshift_r(b, c, a);
    result += __dp4a(a, b, c) + __dp2a_lo(a, b, c);
    result += __mulhi(a, b) + __mul24(b, c) + __sad(a, b, c) + __hadd(a, c);
    result += __vabsdiffu4(a, b) + __usad(a, b, c);
    int field;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(field) : "r"(a), "r"(b & 31), "r"(5));
    asm("bfi.b32 %0, %1, %0, %2, 7;" : "+r"(result) : "r"(field), "r"(c & 31));
    long long w = ((long long)a << (b & 63)) + (((long long)c * b) >> (a & 63));
    wide[i] = w * w + (a == b ? w >> 3 : (unsigned long long)w >> 5);
    out[i] = result;
}
