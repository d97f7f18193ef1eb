#include "real.h"
#include <stdlib.h>

void two_mm(long NI, long NJ, long NK, long NL, real alpha, real beta,
            real A[restrict NI][NK], real B[restrict NK][NJ], real C[restrict NJ][NL],
            real D[restrict NI][NL])
{
    real (*restrict tmp)[NJ] = malloc(sizeof(real[NI][NJ]));
    for (long i = 0; i < NI; i++)
        for (long j = 0; j < NJ; j++) {
            tmp[i][j] = R(0.0);
            for (long k = 0; k < NK; k++)
                tmp[i][j] += alpha * A[i][k] * B[k][j];
        }
    for (long i = 0; i < NI; i++)
        for (long j = 0; j < NL; j++) {
            D[i][j] *= beta;
            for (long k = 0; k < NJ; k++)
                D[i][j] += tmp[i][k] * C[k][j];
        }
    free(tmp);
}
