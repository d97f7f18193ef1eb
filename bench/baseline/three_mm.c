#include <stdlib.h>

void three_mm(long NI, long NJ, long NK, long NL, long NM, double A[restrict NI][NK],
              double B[restrict NK][NJ], double C[restrict NJ][NM], double D[restrict NM][NL],
              double G[restrict NI][NL])
{
    double (*restrict E)[NJ] = malloc(sizeof(double[NI][NJ]));
    double (*restrict F)[NL] = malloc(sizeof(double[NJ][NL]));
    for (long i = 0; i < NI; i++)
        for (long j = 0; j < NJ; j++) {
            E[i][j] = 0.0;
            for (long k = 0; k < NK; k++)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (long i = 0; i < NJ; i++)
        for (long j = 0; j < NL; j++) {
            F[i][j] = 0.0;
            for (long k = 0; k < NM; k++)
                F[i][j] += C[i][k] * D[k][j];
        }
    for (long i = 0; i < NI; i++)
        for (long j = 0; j < NL; j++) {
            G[i][j] = 0.0;
            for (long k = 0; k < NJ; k++)
                G[i][j] += E[i][k] * F[k][j];
        }
    free(F);
    free(E);
}
