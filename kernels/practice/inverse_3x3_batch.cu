// Inverts a batch of 3x3 matrices by the adjugate. Singular matrices give zeros, and their
// number is counted.
extern "C" __global__ void inverse_3x3_batch(const float *in, float *out, int count, float eps, int *singular)
{
    for (int m = blockIdx.x * blockDim.x + threadIdx.x; m < count; m += gridDim.x * blockDim.x) {
        float a[3][3];
        for (int i = 0; i < 9; i++)
            a[i / 3][i % 3] = in[m * 9 + i];

        float cof[3][3];
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
                int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
                cof[i][j] = a[i1][j1] * a[i2][j2] - a[i1][j2] * a[i2][j1];
            }
        }

        float det = 0.0f;
        for (int j = 0; j < 3; j++)
            det += a[0][j] * cof[0][j];

        float inv = 0.0f;
        if (fabsf(det) > eps)
            inv = 1.0f / det;
        else
            atomicAdd(singular, 1);

        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                out[m * 9 + i * 3 + j] = cof[j][i] * inv;
    }
}
