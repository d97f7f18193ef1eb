/* The lower triangle of C[n][n] += alpha A[n][k] B[k][n], blocks of rows taken in turn. */
#include "mm.h"

static inline void mm_lower(long n, long k, real alpha, const real *A, long ra, long ca,
                            const real *B, long ldb, real *C, long ldc)
{
    enum { ROWS = 64 };
#pragma omp parallel for schedule(dynamic)
    for (long b = (n - 1) / ROWS; b >= 0; b--) {
        long i = b * ROWS, rows = i + ROWS < n ? ROWS : n - i;
        real corner[ROWS * ROWS];
        mm(rows, i, k, alpha, A + i * ra, ra, ca, B, ldb, C + i * ldc, ldc);
        for (long r = 0; r < rows; r++)
            for (long j = 0; j < rows; j++)
                corner[r * ROWS + j] = j <= r ? C[(i + r) * ldc + i + j] : 0;
        mm(rows, rows, k, alpha, A + i * ra, ra, ca, B + i, ldb, corner, ROWS);
        for (long r = 0; r < rows; r++)
            for (long j = 0; j <= r; j++)
                C[(i + r) * ldc + i + j] = corner[r * ROWS + j];
    }
}

static inline void scale_lower(long n, real beta, real *C)
{
#pragma omp parallel for schedule(dynamic, 16)
    for (long i = 0; i < n; i++)
        for (long j = 0; j <= i; j++)
            C[i * n + j] *= beta;
}
