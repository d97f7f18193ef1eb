#include "rows.h"
#include <stdlib.h>
#include <string.h>

void atax(long M, long N, real *restrict A, real *restrict x, real *restrict y)
{
    memset(y, 0, N * sizeof(real));
#ifdef FAST
#pragma omp parallel for reduction(+ : y[:N])
    for (long i = 0; i < M; i++) {
        real *restrict a = A + i * N, t = dot(N, a, x, 0);
#pragma omp simd
        for (long j = 0; j < N; j++)
            y[j] += a[j] * t;
    }
#else
    real *restrict tmp = calloc(M, sizeof(real));
#pragma omp parallel
    {
#pragma omp for
        for (long i = 0; i < M; i += 8)
            dots(i, i + 8 < M ? i + 8 : M, N, A, x, tmp);
#pragma omp for
        for (long j0 = 0; j0 < N; j0 += 512)
            for (long i = 0; i < M; i++)
#pragma omp simd
                for (long j = j0; j < (j0 + 512 < N ? j0 + 512 : N); j++)
                    y[j] += A[i * N + j] * tmp[i];
    }
    free(tmp);
#endif
}
