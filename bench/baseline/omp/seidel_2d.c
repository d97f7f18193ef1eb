#include "real.h"

/* Rows of all steps in one wavefront: step t is two rows behind step t - 1. */
void seidel_2d(long TSTEPS, long N, real A[restrict N][N])
{
    long last = 2 * (TSTEPS - 1) + N - 2;
#pragma omp parallel
    for (long wave = 1; wave <= last; wave++) {
        long first = wave - (N - 2) > 0 ? (wave - (N - 2) + 1) / 2 : 0;
        long end = (wave - 1) / 2 < TSTEPS - 1 ? (wave - 1) / 2 : TSTEPS - 1;
#pragma omp for schedule(static)
        for (long t = first; t <= end; t++) {
            long i = wave - 2 * t;
            for (long j = 1; j < N - 1; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1]
                           + A[i][j - 1] + A[i][j] + A[i][j + 1]
                           + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / R(9.0);
        }
    }
}
