// Solves many tridiagonal systems in double precision (Thomas algorithm), one per thread.
// Systems are interleaved, so that neighbouring threads access neighbouring numbers.
extern "C" __global__ void tridiagonal_batch(const double *lower, const double *diag, const double *upper, double *rhs,
                                             double *scratch, int n, int systems)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems)
        return;

    double pivot = diag[s];
    scratch[s] = upper[s] / pivot;
    rhs[s] = rhs[s] / pivot;
    for (int i = 1; i < n; i++) {
        int at = i * systems + s;
        pivot = diag[at] - lower[at] * scratch[at - systems];
        if (i < n - 1)
            scratch[at] = upper[at] / pivot;
        rhs[at] = (rhs[at] - lower[at] * rhs[at - systems]) / pivot;
    }
    for (int i = n - 2; i >= 0; i--) {
        int at = i * systems + s;
        rhs[at] -= scratch[at] * rhs[at + systems];
    }
}
