#include "real.h"
#include <stdlib.h>

void correlation(long M, long N, real data[restrict N][M], real corr[restrict M][M])
{
    real *restrict mean = malloc(M * sizeof(real));
    real *restrict stddev = malloc(M * sizeof(real));
    for (long j = 0; j < M; j++) {
        mean[j] = R(0.0);
        for (long i = 0; i < N; i++)
            mean[j] += data[i][j];
        mean[j] /= (real)N;
    }
    for (long j = 0; j < M; j++) {
        stddev[j] = R(0.0);
        for (long i = 0; i < N; i++)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] /= (real)N;
        stddev[j] = sqrt(stddev[j]);
        stddev[j] = stddev[j] <= R(0.1) ? R(1.0) : stddev[j];
    }
    for (long i = 0; i < N; i++)
        for (long j = 0; j < M; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt((real)N) * stddev[j];
        }
    for (long i = 0; i < M; i++) {
        corr[i][i] = R(1.0);
        for (long j = i + 1; j < M; j++) {
            corr[i][j] = R(0.0);
            for (long k = 0; k < N; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    free(stddev);
    free(mean);
}
