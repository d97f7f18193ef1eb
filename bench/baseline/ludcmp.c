#include "real.h"

void ludcmp(long N, real A[restrict N][N], real b[restrict N], real x[restrict N],
            real y[restrict N])
{
    real w;
    for (long i = 0; i < N; i++) {
        for (long j = 0; j < i; j++) {
            w = A[i][j];
            for (long k = 0; k < j; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w / A[j][j];
        }
        for (long j = i; j < N; j++) {
            w = A[i][j];
            for (long k = 0; k < i; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w;
        }
    }
    for (long i = 0; i < N; i++) {
        w = b[i];
        for (long j = 0; j < i; j++)
            w -= A[i][j] * y[j];
        y[i] = w;
    }
    for (long i = N - 1; i >= 0; i--) {
        w = y[i];
        for (long j = i + 1; j < N; j++)
            w -= A[i][j] * x[j];
        x[i] = w / A[i][i];
    }
}
