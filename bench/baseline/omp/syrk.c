#include "triangle.h"
#include <stdlib.h>

void syrk(long M, long N, real alpha, real beta, real *C, real *A)
{
    real *T = transposed(N, M, A, malloc(N * M * sizeof(real)));
    scale_lower(N, beta, C);
    mm_lower(N, M, alpha, A, M, 1, T, N, C, N);
    free(T);
}
