#include <stdlib.h>

void two_mm(long NI, long NJ, long NK, long NL, double alpha, double beta,
            double A[restrict NI][NK], double B[restrict NK][NJ], double C[restrict NJ][NL],
            double D[restrict NI][NL])
{
    double (*restrict tmp)[NJ] = malloc(sizeof(double[NI][NJ]));
    for (long i = 0; i < NI; i++)
        for (long j = 0; j < NJ; j++) {
            tmp[i][j] = 0.0;
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
