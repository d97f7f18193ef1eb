#include "real.h"

void gramschmidt(long M, long N, real A[restrict N][M], real Q[restrict N][M],
                 real R_[restrict M][M])
{
#pragma omp parallel
    for (long k = 0; k < M; k++) {
#pragma omp single
        {
            real nrm = 0;
            for (long i = 0; i < N; i++)
                nrm += A[i][k] * A[i][k];
            R_[k][k] = sqrt(nrm);
            for (long i = 0; i < N; i++)
                Q[i][k] = A[i][k] / R_[k][k];
        }
#pragma omp for
        for (long j0 = k + 1; j0 < M; j0 += 256) {
            long j1 = j0 + 256 < M ? j0 + 256 : M;
            real r[256] = {0};
            for (long i = 0; i < N; i++) {
                real q = Q[i][k];
#pragma omp simd
                for (long j = j0; j < j1; j++)
                    r[j - j0] += q * A[i][j];
            }
            for (long i = 0; i < N; i++) {
                real q = Q[i][k];
#pragma omp simd
                for (long j = j0; j < j1; j++)
                    A[i][j] -= q * r[j - j0];
            }
            for (long j = j0; j < j1; j++)
                R_[k][j] = r[j - j0];
        }
    }
}
