#include "real.h"
#include <stdlib.h>

void three_mm(long NI, long NJ, long NK, long NL, long NM, real A[restrict NI][NK],
              real B[restrict NK][NJ], real C[restrict NJ][NM], real D[restrict NM][NL],
              real G[restrict NI][NL])
{
    real (*restrict E)[NJ] = malloc(sizeof(real[NI][NJ]));
    real (*restrict F)[NL] = malloc(sizeof(real[NJ][NL]));
    for (long i = 0; i < NI; i++)
        for (long j = 0; j < NJ; j++) {
            E[i][j] = R(0.0);
            for (long k = 0; k < NK; k++)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (long i = 0; i < NJ; i++)
        for (long j = 0; j < NL; j++) {
            F[i][j] = R(0.0);
            for (long k = 0; k < NM; k++)
                F[i][j] += C[i][k] * D[k][j];
        }
    for (long i = 0; i < NI; i++)
        for (long j = 0; j < NL; j++) {
            G[i][j] = R(0.0);
            for (long k = 0; k < NJ; k++)
                G[i][j] += E[i][k] * F[k][j];
        }
    free(F);
    free(E);
}
