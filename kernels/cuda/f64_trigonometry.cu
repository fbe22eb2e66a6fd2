// f64_trigonometry: out[i] = (cos(in[i]), sin(in[i])), FP64, with the compiler's tables: coefficients of the two
// polynomials in a variable of the module, and 2 / pi in 1152 bits for arguments from 2^31 on, whose reduction is a loop in a
// function that each thread calls or not. NVRTC 11.8 writes the addresses of both tables into MOV32I (relocations of low and
// high half), NVRTC 12.9 loads them from constant bank 4.
// Launch: any block and grid; threads from n on leave.
extern "C" __global__ void f64_trigonometry(const double *in, double2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = make_double2(cos(in[i]), sin(in[i]));
}
