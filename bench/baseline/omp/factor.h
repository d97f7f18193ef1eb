/* A = L U in place, in blocks of columns; the update of what is left is a matrix product. */
#include "mm.h"

static inline void factor(long n, real *A)
{
    enum { BLOCK = 64 };
    for (long b = 0; b < n; b += BLOCK) {
        long e = b + BLOCK < n ? b + BLOCK : n;
        for (long k = b; k < e; k++)
            for (long i = k + 1; i < e; i++) {
                A[i * n + k] /= A[k * n + k];
                for (long j = k + 1; j < e; j++)
                    A[i * n + j] -= A[i * n + k] * A[k * n + j];
            }
#pragma omp parallel
        {
#pragma omp for nowait schedule(dynamic, 16)
            for (long i = e; i < n; i++)
                for (long k = b; k < e; k++) {
                    real a = A[i * n + k] /= A[k * n + k];
                    for (long j = k + 1; j < e; j++)
                        A[i * n + j] -= a * A[k * n + j];
                }
#pragma omp for schedule(dynamic)
            for (long j0 = e; j0 < n; j0 += BLOCK)
                for (long i = b; i < e; i++)
                    for (long k = b; k < i; k++) {
                        real a = A[i * n + k];
                        for (long j = j0; j < j0 + BLOCK && j < n; j++)
                            A[i * n + j] -= a * A[k * n + j];
                    }
        }
        mm_all(n - e, n - e, e - b, -1, A + e * n + b, n, 1, A + b * n + e, n, A + e * n + e, n);
    }
}
