// Causal attention of one head over a short sequence. A block handles one head, a thread one
// query; keys and values are in shared memory, the softmax is computed online.
#define MAX_SEQ 64
#define HEAD_DIM 16

extern "C" __global__ void attention_short(const float *q, const float *k, const float *v, float *out, int seq, float scale)
{
    __shared__ float keys[MAX_SEQ][HEAD_DIM];
    __shared__ float vals[MAX_SEQ][HEAD_DIM];

    const size_t head = (size_t)blockIdx.x * seq * HEAD_DIM;
    for (int i = threadIdx.x; i < seq * HEAD_DIM; i += blockDim.x) {
        keys[i / HEAD_DIM][i % HEAD_DIM] = k[head + i];
        vals[i / HEAD_DIM][i % HEAD_DIM] = v[head + i];
    }
    __syncthreads();

    int t = threadIdx.x;
    if (t >= seq)
        return;

    float query[HEAD_DIM], acc[HEAD_DIM];
    for (int d = 0; d < HEAD_DIM; d++) {
        query[d] = q[head + t * HEAD_DIM + d] * scale;
        acc[d] = 0.0f;
    }

    float maxScore = -1e30f, denom = 0.0f;
    for (int j = 0; j <= t; j++) {
        float score = 0.0f;
        for (int d = 0; d < HEAD_DIM; d++)
            score += query[d] * keys[j][d];

        float newMax = fmaxf(maxScore, score);
        float correction = expf(maxScore - newMax);
        float p = expf(score - newMax);
        denom = denom * correction + p;
        for (int d = 0; d < HEAD_DIM; d++)
            acc[d] = acc[d] * correction + p * vals[j][d];
        maxScore = newMax;
    }

    for (int d = 0; d < HEAD_DIM; d++)
        out[head + t * HEAD_DIM + d] = acc[d] / denom;
}
