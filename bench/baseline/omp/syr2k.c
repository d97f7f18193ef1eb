#include "triangle.h"
#include <stdlib.h>

void syr2k(long M, long N, real alpha, real beta, real *C, real *A, real *B)
{
    scale_lower(N, beta, C);
    real *T = transposed(N, M, A, malloc(N * M * sizeof(real)));
    mm_lower(N, M, alpha, B, M, 1, T, N, C, N);
    transposed(N, M, B, T);
    mm_lower(N, M, alpha, A, M, 1, T, N, C, N);
    free(T);
}
