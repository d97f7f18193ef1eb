#include "rows.h"
#include <stdlib.h>
#include <string.h>

void gesummv(long N, real alpha, real beta, real *restrict A, real *restrict B, real *restrict x,
             real *restrict y)
{
    real *restrict tmp = calloc(N, sizeof(real));
    memset(y, 0, N * sizeof(real));
#pragma omp parallel for
    for (long i = 0; i < N; i += 8) {
        long end = i + 8 < N ? i + 8 : N;
        dots(i, end, N, A, x, tmp);
        dots(i, end, N, B, x, y);
        for (long r = i; r < end; r++)
            y[r] = alpha * tmp[r] + beta * y[r];
    }
    free(tmp);
}
