#include "real.h"

void seidel_2d(long TSTEPS, long N, real A[restrict N][N])
{
    for (long t = 0; t < TSTEPS; t++)
        for (long i = 1; i < N - 1; i++)
            for (long j = 1; j < N - 1; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1]
                           + A[i][j - 1] + A[i][j] + A[i][j + 1]
                           + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / R(9.0);
}
