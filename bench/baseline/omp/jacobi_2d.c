#include "real.h"

void jacobi_2d(long TSTEPS, long N, real A[restrict N][N], real B[restrict N][N])
{
#pragma omp parallel
    for (long t = 0; t < TSTEPS; t++) {
#pragma omp for
        for (long i = 1; i < N - 1; i++)
            for (long j = 1; j < N - 1; j++)
                B[i][j] = R(0.2) * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j]
                          + A[i - 1][j]);
#pragma omp for
        for (long i = 1; i < N - 1; i++)
            for (long j = 1; j < N - 1; j++)
                A[i][j] = R(0.2) * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j]
                          + B[i - 1][j]);
    }
}
