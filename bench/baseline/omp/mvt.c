#include "rows.h"

void mvt(long N, real *restrict x1, real *restrict x2, real *restrict y1, real *restrict y2,
         real *restrict A)
{
    enum { ROWS = 8 };
#ifdef FAST
#pragma omp parallel for reduction(+ : x2[:N])
    for (long i = 0; i < N; i++) {
        real *restrict a = A + i * N, s = x1[i], y = y2[i];
#pragma omp simd reduction(+ : s)
        for (long j = 0; j < N; j++) {
            s += a[j] * y1[j];
            x2[j] += a[j] * y;
        }
        x1[i] = s;
    }
#else
#pragma omp parallel
    {
#pragma omp for nowait
        for (long i = 0; i < N; i += ROWS)
            dots(i, i + ROWS < N ? i + ROWS : N, N, A, y1, x1);
#pragma omp for
        for (long j0 = 0; j0 < N; j0 += 512)
            for (long i = 0; i < N; i++)
#pragma omp simd
                for (long j = j0; j < (j0 + 512 < N ? j0 + 512 : N); j++)
                    x2[j] += A[i * N + j] * y2[i];
    }
#endif
}
