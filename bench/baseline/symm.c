#include "real.h"

void symm(long M, long N, real alpha, real beta, real C[restrict M][N],
          real A[restrict M][M], real B[restrict M][N])
{
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            real temp2 = R(0.0);
            for (long k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                temp2 += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * temp2;
        }
}
