#include "real.h"
#include <stdlib.h>

void gesummv(long N, real alpha, real beta, real A[restrict N][N], real B[restrict N][N],
             real x[restrict N], real y[restrict N])
{
    real *tmp = malloc(N * sizeof(real));
    for (long i = 0; i < N; i++) {
        tmp[i] = R(0.0);
        y[i] = R(0.0);
        for (long j = 0; j < N; j++) {
            tmp[i] = A[i][j] * x[j] + tmp[i];
            y[i] = B[i][j] * x[j] + y[i];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
    free(tmp);
}
