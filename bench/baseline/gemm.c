#include "real.h"

void gemm(long NI, long NJ, long NK, real alpha, real beta, real C[restrict NI][NJ],
          real A[restrict NI][NK], real B[restrict NK][NJ])
{
    for (long i = 0; i < NI; i++) {
        for (long j = 0; j < NJ; j++)
            C[i][j] *= beta;
        for (long k = 0; k < NK; k++)
            for (long j = 0; j < NJ; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}
