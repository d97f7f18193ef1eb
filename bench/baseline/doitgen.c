#include "real.h"
#include <stdlib.h>

void doitgen(long NQ, long NR, long NP, real A[restrict NR][NQ][NP], real C4[restrict NP][NP])
{
    real *restrict total = malloc(NP * sizeof(real));
    for (long r = 0; r < NR; r++)
        for (long q = 0; q < NQ; q++) {
            for (long p = 0; p < NP; p++) {
                total[p] = R(0.0);
                for (long s = 0; s < NP; s++)
                    total[p] += A[r][q][s] * C4[s][p];
            }
            for (long p = 0; p < NP; p++)
                A[r][q][p] = total[p];
        }
    free(total);
}
