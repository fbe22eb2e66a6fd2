// Edit distance between pairs of short strings, one pair per thread, with a single row of
// the dynamic programming table.
#define MAX_LEN 32

extern "C" __global__ void edit_distance(const char *first, const int *firstLength, const char *second, const int *secondLength,
                                         int *distance, int pairs)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs)
        return;

    const char *a = first + p * MAX_LEN;
    const char *b = second + p * MAX_LEN;
    const int m = firstLength[p];
    const int n = secondLength[p];

    unsigned short row[MAX_LEN + 1];
    for (int j = 0; j <= n; j++)
        row[j] = j;

    for (int i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = i;
        char ca = a[i - 1];
        for (int j = 1; j <= n; j++) {
            int up = row[j];
            int substitution = diagonal + (ca != b[j - 1]);
            row[j] = min(substitution, min(up, row[j - 1]) + 1);
            diagonal = up;
        }
    }
    distance[p] = row[n];
}
