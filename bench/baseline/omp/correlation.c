#include "moments.h"
#include <stdlib.h>

void correlation(long M, long N, real *data, real *corr)
{
    enum { COLUMNS = 64 };
    real *restrict mean = malloc(M * sizeof(real)), *restrict stddev = malloc(M * sizeof(real));
    means(M, N, data, mean);
#pragma omp parallel for
    for (long j0 = 0; j0 < M; j0 += COLUMNS) {
        long j1 = j0 + COLUMNS < M ? j0 + COLUMNS : M;
        for (long j = j0; j < j1; j++)
            stddev[j] = 0;
        for (long i = 0; i < N; i++)
            for (long j = j0; j < j1; j++) {
                real d = data[i * M + j] - mean[j];
                stddev[j] += d * d;
            }
        for (long j = j0; j < j1; j++) {
            real s = sqrt(stddev[j] / (real)N);
            stddev[j] = s <= R(0.1) ? 1 : s;
        }
    }
    real root = sqrt((real)N);
#pragma omp parallel for
    for (long i = 0; i < N; i++)
#pragma omp simd
        for (long j = 0; j < M; j++)
            data[i * M + j] = (data[i * M + j] - mean[j]) / (root * stddev[j]);
    memset(corr, 0, M * M * sizeof(real));
    mm_lower(M, N, 1, data, 1, M, data, M, corr, M);
    for (long i = 0; i < M; i++)
        corr[i * M + i] = 1;
    mirror(M, corr);
    free(stddev);
    free(mean);
}
