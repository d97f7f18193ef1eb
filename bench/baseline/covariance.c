#include "real.h"
#include <stdlib.h>

void covariance(long M, long N, real data[restrict N][M], real cov[restrict M][M])
{
    real *restrict mean = malloc(M * sizeof(real));
    for (long j = 0; j < M; j++) {
        mean[j] = R(0.0);
        for (long i = 0; i < N; i++)
            mean[j] += data[i][j];
        mean[j] /= (real)N;
    }
    for (long i = 0; i < N; i++)
        for (long j = 0; j < M; j++)
            data[i][j] -= mean[j];
    for (long i = 0; i < M; i++)
        for (long j = i; j < M; j++) {
            cov[i][j] = R(0.0);
            for (long k = 0; k < N; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= (real)(N - 1);
            cov[j][i] = cov[i][j];
        }
    free(mean);
}
