#include "real.h"


void gramschmidt(long M, long N, real A[restrict N][M], real Q[restrict N][M],
                 real R[restrict M][M])
{
    for (long k = 0; k < M; k++) {
        real nrm = R(0.0);
        for (long i = 0; i < N; i++)
            nrm += A[i][k] * A[i][k];
        R[k][k] = sqrt(nrm);
        for (long i = 0; i < N; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (long j = k + 1; j < M; j++) {
            R[k][j] = R(0.0);
            for (long i = 0; i < N; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (long i = 0; i < N; i++)
                A[i][j] = A[i][j] - Q[i][k] * R[k][j];
        }
    }
}
