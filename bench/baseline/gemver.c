#include "real.h"

void gemver(long N, real alpha, real beta, real A[restrict N][N], real u1[restrict N],
            real v1[restrict N], real u2[restrict N], real v2[restrict N],
            real w[restrict N], real x[restrict N], real y[restrict N], real z[restrict N])
{
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++)
            A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++)
            x[i] = x[i] + beta * A[j][i] * y[j];
    for (long i = 0; i < N; i++)
        x[i] = x[i] + z[i];
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++)
            w[i] = w[i] + alpha * A[i][j] * x[j];
}
