// Solves many symmetric positive definite 6x6 systems (normal equations of pose updates):
// Cholesky factorisation with damping on the diagonal, then forward and back substitution.
#define DIM 6

__device__ bool factorise(float L[DIM][DIM])
{
    for (int j = 0; j < DIM; j++) {
        float d = L[j][j];
        for (int k = 0; k < j; k++)
            d -= L[j][k] * L[j][k];
        if (d <= 0.0f)
            return false;
        d = sqrtf(d);
        L[j][j] = d;
        for (int i = j + 1; i < DIM; i++) {
            float s = L[i][j];
            for (int k = 0; k < j; k++)
                s -= L[i][k] * L[j][k];
            L[i][j] = s / d;
        }
    }
    return true;
}

extern "C" __global__ void cholesky_6x6_batch(const float *A, const float *b, float *x, int *ok, float damping, int batch)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= batch)
        return;

    float L[DIM][DIM];
    float v[DIM];
    for (int r = 0; r < DIM; r++) {
        for (int c = 0; c <= r; c++)
            L[r][c] = A[(size_t)id * DIM * DIM + r * DIM + c];
        L[r][r] *= 1.0f + damping;
        v[r] = b[id * DIM + r];
    }

    bool good = factorise(L);
    ok[id] = good;
    if (!good) {
        for (int r = 0; r < DIM; r++)
            x[id * DIM + r] = 0.0f;
        return;
    }

    for (int r = 0; r < DIM; r++) {
        for (int c = 0; c < r; c++)
            v[r] -= L[r][c] * v[c];
        v[r] /= L[r][r];
    }
    for (int r = DIM - 1; r >= 0; r--) {
        for (int c = r + 1; c < DIM; c++)
            v[r] -= L[c][r] * v[c];
        v[r] /= L[r][r];
    }
    for (int r = 0; r < DIM; r++)
        x[id * DIM + r] = v[r];
}
