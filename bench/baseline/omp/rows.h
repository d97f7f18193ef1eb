/* y[i] = start[i] + sum of A[i][j] x[j], rows i0 to i1.  With -DFAST in lanes, else in order. */
#include "real.h"

static inline real dot(long n, const real *restrict a, const real *restrict x, real s)
{
#pragma omp simd reduction(+ : s)
    for (long j = 0; j < n; j++)
        s += a[j] * x[j];
    return s;
}

static inline void dots(long i0, long i1, long n, const real *restrict A, const real *restrict x,
                        real *restrict y)
{
    long i = i0;
#ifdef FAST
    for (; i < i1; i++)
        y[i] = dot(n, A + i * n, x, y[i]);
#else
    for (; i + 8 <= i1; i += 8) {
        real s[8];
        for (int r = 0; r < 8; r++)
            s[r] = y[i + r];
        for (long j = 0; j < n; j++)
            for (int r = 0; r < 8; r++)
                s[r] += A[(i + r) * n + j] * x[j];
        for (int r = 0; r < 8; r++)
            y[i + r] = s[r];
    }
    for (; i < i1; i++)
        for (long j = 0; j < n; j++)
            y[i] += A[i * n + j] * x[j];
#endif
}
