#include "mm.h"

void gemm(long NI, long NJ, long NK, real alpha, real beta, real *C, real *A, real *B)
{
#pragma omp parallel for
    for (long i = 0; i < NI; i++)
        for (long j = 0; j < NJ; j++)
            C[i * NJ + j] *= beta;
    mm_all(NI, NJ, NK, alpha, A, NK, 1, B, NJ, C, NJ);
}
