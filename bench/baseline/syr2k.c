#include "real.h"

void syr2k(long M, long N, real alpha, real beta, real C[restrict N][N],
           real A[restrict N][M], real B[restrict N][M])
{
    for (long i = 0; i < N; i++) {
        for (long j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (long k = 0; k < M; k++)
            for (long j = 0; j <= i; j++)
                C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    }
}
