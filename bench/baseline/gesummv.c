#include <stdlib.h>

void gesummv(long N, double alpha, double beta, double A[restrict N][N], double B[restrict N][N],
             double x[restrict N], double y[restrict N])
{
    double *tmp = malloc(N * sizeof(double));
    for (long i = 0; i < N; i++) {
        tmp[i] = 0.0;
        y[i] = 0.0;
        for (long j = 0; j < N; j++) {
            tmp[i] = A[i][j] * x[j] + tmp[i];
            y[i] = B[i][j] * x[j] + y[i];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
    free(tmp);
}
