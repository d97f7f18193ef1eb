#include <stdlib.h>

void covariance(long M, long N, double data[restrict N][M], double cov[restrict M][M])
{
    double *restrict mean = malloc(M * sizeof(double));
    for (long j = 0; j < M; j++) {
        mean[j] = 0.0;
        for (long i = 0; i < N; i++)
            mean[j] += data[i][j];
        mean[j] /= (double)N;
    }
    for (long i = 0; i < N; i++)
        for (long j = 0; j < M; j++)
            data[i][j] -= mean[j];
    for (long i = 0; i < M; i++)
        for (long j = i; j < M; j++) {
            cov[i][j] = 0.0;
            for (long k = 0; k < N; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= (double)(N - 1);
            cov[j][i] = cov[i][j];
        }
    free(mean);
}
