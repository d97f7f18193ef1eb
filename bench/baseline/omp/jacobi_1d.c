#include "real.h"

void jacobi_1d(long TSTEPS, long N, real A[restrict N], real B[restrict N])
{
#pragma omp parallel
    for (long t = 0; t < TSTEPS; t++) {
#pragma omp for simd
        for (long i = 1; i < N - 1; i++)
            B[i] = R(0.33333) * (A[i - 1] + A[i] + A[i + 1]);
#pragma omp for simd
        for (long i = 1; i < N - 1; i++)
            A[i] = R(0.33333) * (B[i - 1] + B[i] + B[i + 1]);
    }
}
