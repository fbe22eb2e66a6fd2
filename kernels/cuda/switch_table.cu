// An eight-way dense switch: each case does something different enough to stay apart.
// Control flow: indirect branches (BRX) through jump tables in constant memory; the compiler splits the switch into three
// tables and compares in between. One case calls a subroutine (square root), all cases are left by BRK or EXIT.
// Launch: 1-D, one thread per element.
extern "C" __global__ void switch_table(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    switch (in[i + n]) {
    case 0: out[i] = value * n + 3; break;
    case 1: out[i] = value / n; break;
    case 2: out[i] = in[value] + in[value + 1]; break;
    case 3: out[i] = value % (n + 1); break;
    case 4: out[i + 1] = value ^ 7; out[i] = n; break;
    case 5: atomicAdd(&out[value], n); break;
    case 6: out[i] = __popc(value) << 3; break;
    case 7: out[i] = __float2int_rz(sqrtf((float)value)); break;
    default: out[i] = -1;
    }
}
