#include "real.h"

void trmm(long M, long N, real alpha, real A[restrict M][M], real B[restrict M][N])
{
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            for (long k = i + 1; k < M; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] *= alpha;
        }
}
