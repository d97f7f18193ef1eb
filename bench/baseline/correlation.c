#include <math.h>
#include <stdlib.h>

void correlation(long M, long N, double data[restrict N][M], double corr[restrict M][M])
{
    double *restrict mean = malloc(M * sizeof(double));
    double *restrict stddev = malloc(M * sizeof(double));
    for (long j = 0; j < M; j++) {
        mean[j] = 0.0;
        for (long i = 0; i < N; i++)
            mean[j] += data[i][j];
        mean[j] /= (double)N;
    }
    for (long j = 0; j < M; j++) {
        stddev[j] = 0.0;
        for (long i = 0; i < N; i++)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] /= (double)N;
        stddev[j] = sqrt(stddev[j]);
        stddev[j] = stddev[j] <= 0.1 ? 1.0 : stddev[j];
    }
    for (long i = 0; i < N; i++)
        for (long j = 0; j < M; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt((double)N) * stddev[j];
        }
    for (long i = 0; i < M; i++) {
        corr[i][i] = 1.0;
        for (long j = i + 1; j < M; j++) {
            corr[i][j] = 0.0;
            for (long k = 0; k < N; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    free(stddev);
    free(mean);
}
