#include "moments.h"
#include <stdlib.h>

void covariance(long M, long N, real *data, real *cov)
{
    real *restrict mean = malloc(M * sizeof(real));
    means(M, N, data, mean);
#pragma omp parallel for
    for (long i = 0; i < N; i++)
#pragma omp simd
        for (long j = 0; j < M; j++)
            data[i * M + j] -= mean[j];
    memset(cov, 0, M * M * sizeof(real));
    mm_lower(M, N, 1, data, 1, M, data, M, cov, M);
#pragma omp parallel for
    for (long i = 0; i < M; i++)
        for (long j = 0; j <= i; j++)
            cov[i * M + j] /= (real)(N - 1);
    mirror(M, cov);
    free(mean);
}
