#include <stdlib.h>

void atax(long M, long N, double A[restrict M][N], double x[restrict N], double y[restrict N])
{
    double *restrict tmp = malloc(M * sizeof(double));
    for (long i = 0; i < N; i++)
        y[i] = 0.0;
    for (long i = 0; i < M; i++) {
        tmp[i] = 0.0;
        for (long j = 0; j < N; j++)
            tmp[i] += A[i][j] * x[j];
        for (long j = 0; j < N; j++)
            y[j] += A[i][j] * tmp[i];
    }
    free(tmp);
}
