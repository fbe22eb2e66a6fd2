// Branches that depend on the condition code, and carries kept in it.
// Control flow of cc_branch: two conditions are both needed again later, so the branch on their conjunction tests
// guard AND condition code (@P BRA CC.xx).
// carry_chain: 128-bit addition; IADD.CC / IADD.X carry chains and a branch on the carry out.
// Launch: 1-D, one thread per element.
extern "C" __global__ void cc_branch(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = b[i];
    bool different = x != y;
    bool small = x < 2.0f * y;
    if (different && small) {
        out[i] = a[i + n];
        out[i + 1] = __float2int_rz(x) / n;
    } else if (different) {
        out[i + 2] = x * y;
        out[i] = b[i + 2] + a[n];
    }
    if (small)
        out[i + 5] = 9.0f;
}

extern "C" __global__ void carry_chain(const unsigned *a, const unsigned *b, unsigned *out, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    unsigned r0, r1, r2, r3, carry;
    asm("add.cc.u32 %0, %5, %9;\n\t"
        "addc.cc.u32 %1, %6, %10;\n\t"
        "addc.cc.u32 %2, %7, %11;\n\t"
        "addc.cc.u32 %3, %8, %12;\n\t"
        "addc.u32 %4, 0, 0;"
        : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3), "=r"(carry)
        : "r"(a[i]), "r"(a[i + 1]), "r"(a[i + 2]), "r"(a[i + 3]), "r"(b[i]), "r"(b[i + 1]), "r"(b[i + 2]), "r"(b[i + 3]));
    if (carry) {
        r0 /= n;
        out[n] = r0 % (n + 1);
    }
    out[i] = r0;
    out[i + 1] = r1;
    out[i + 2] = r2;
    out[i + 3] = r3;
}
