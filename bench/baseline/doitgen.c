#include <stdlib.h>

void doitgen(long NQ, long NR, long NP, double A[restrict NR][NQ][NP], double C4[restrict NP][NP])
{
    double *restrict total = malloc(NP * sizeof(double));
    for (long r = 0; r < NR; r++)
        for (long q = 0; q < NQ; q++) {
            for (long p = 0; p < NP; p++) {
                total[p] = 0.0;
                for (long s = 0; s < NP; s++)
                    total[p] += A[r][q][s] * C4[s][p];
            }
            for (long p = 0; p < NP; p++)
                A[r][q][p] = total[p];
        }
    free(total);
}
