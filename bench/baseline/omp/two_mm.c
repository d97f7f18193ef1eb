#include "mm.h"
#include <stdlib.h>

void two_mm(long NI, long NJ, long NK, long NL, real alpha, real beta, real *A, real *B, real *C,
            real *D)
{
    real *tmp = calloc(NI * NJ, sizeof(real));
    mm_all(NI, NJ, NK, alpha, A, NK, 1, B, NJ, tmp, NJ);
#pragma omp parallel for
    for (long i = 0; i < NI * NL; i++)
        D[i] *= beta;
    mm_all(NI, NL, NJ, 1, tmp, NJ, 1, C, NL, D, NL);
    free(tmp);
}
