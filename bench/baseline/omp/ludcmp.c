#include "factor.h"

void ludcmp(long N, real *A, real *b, real *x, real *y)
{
    factor(N, A);
    for (long i = 0; i < N; i++) {
        real w = b[i];
        for (long j = 0; j < i; j++)
            w -= A[i * N + j] * y[j];
        y[i] = w;
    }
    for (long i = N - 1; i >= 0; i--) {
        real w = y[i];
        for (long j = i + 1; j < N; j++)
            w -= A[i * N + j] * x[j];
        x[i] = w / A[i * N + i];
    }
}
