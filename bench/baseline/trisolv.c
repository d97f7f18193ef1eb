#include "real.h"

void trisolv(long N, real L[restrict N][N], real x[restrict N], real b[restrict N])
{
    for (long i = 0; i < N; i++) {
        x[i] = b[i];
        for (long j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
}
