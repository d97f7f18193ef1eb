#include "real.h"
#include <stdlib.h>

void atax(long M, long N, real A[restrict M][N], real x[restrict N], real y[restrict N])
{
    real *restrict tmp = malloc(M * sizeof(real));
    for (long i = 0; i < N; i++)
        y[i] = R(0.0);
    for (long i = 0; i < M; i++) {
        tmp[i] = R(0.0);
        for (long j = 0; j < N; j++)
            tmp[i] += A[i][j] * x[j];
        for (long j = 0; j < N; j++)
            y[j] += A[i][j] * tmp[i];
    }
    free(tmp);
}
