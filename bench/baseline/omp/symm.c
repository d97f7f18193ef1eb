#include "mm.h"
#include <stdlib.h>

void symm(long M, long N, real alpha, real beta, real *C, real *A, real *B)
{
    real *S = malloc(M * M * sizeof(real));
#pragma omp parallel for schedule(dynamic, 16)
    for (long i = 0; i < M; i++)
        for (long k = 0; k <= i; k++)
            S[i * M + k] = S[k * M + i] = A[i * M + k];
#pragma omp parallel for
    for (long i = 0; i < M * N; i++)
        C[i] *= beta;
    mm_all(M, N, M, alpha, S, M, 1, B, N, C, N);
    free(S);
}
