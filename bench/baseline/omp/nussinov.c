static inline int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Rows from the last to the first; within one, k outside and j in lanes as far as it is known. */
void nussinov(long N, int seq[restrict N], int table[restrict N][N])
{
    enum { WIDE = 64 };
#pragma omp parallel
    for (long d = 0; d <= (N - 1) / WIDE; d++) {
#pragma omp for schedule(dynamic)
        for (long b = 0; b <= (N - 1) / WIDE - d; b++) {
            long i1 = (b + 1) * WIDE < N ? (b + 1) * WIDE : N, j0 = (b + d) * WIDE;
            long j1 = j0 + WIDE < N ? j0 + WIDE : N;
            for (long i = i1 - 1; i >= b * WIDE; i--) {
                long first = j0 > i + 1 ? j0 : i + 1;
                for (long k = i + 1; k < j0; k++)
#pragma omp simd
                    for (long j = j0; j < j1; j++)
                        table[i][j] = larger(table[i][j], table[i][k] + table[k + 1][j]);
                for (long j = first; j < j1; j++) {
                    int best = larger(table[i][j], table[i][j - 1]);
                    if (i + 1 < N)
                        best = larger(best, table[i + 1][j]);
                    int pair = i < j - 1 && seq[i] + seq[j] == 3;
                    if (i + 1 < N)
                        best = larger(best, table[i + 1][j - 1] + pair);
                    for (long k = j0 > i + 1 ? j0 : i + 1; k < j; k++)
                        best = larger(best, table[i][k] + table[k + 1][j]);
                    table[i][j] = best;
                }
            }
        }
    }
}
