/* C[n][m] += alpha A[n][k] B[k][m] by one thread: register tiles of four rows and four vectors.
   A's element (i, l) is at A[i * ra + l * ca]; the sum over l keeps its order. */
#include "real.h"
#include <string.h>

typedef real vec __attribute__((vector_size(64)));
enum { LANES = 64 / sizeof(real), WIDE = 4 * LANES, DEEP = 256 };

static inline vec take(const real *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void mm(long n, long m, long k, real alpha, const real *A, long ra, long ca,
                      const real *B, long ldb, real *C, long ldc)
{
    for (long l0 = 0; l0 < k; l0 += DEEP) {
        long l1 = l0 + DEEP < k ? l0 + DEEP : k;
        long j = 0;
        for (; j + WIDE <= m; j += WIDE) {
            long i = 0;
            for (; i + 4 <= n; i += 4) {
                vec c[4][4];
                for (int r = 0; r < 4; r++)
                    for (int w = 0; w < 4; w++)
                        c[r][w] = take(&C[(i + r) * ldc + j + w * LANES]);
                for (long l = l0; l < l1; l++) {
                    vec b0 = take(&B[l * ldb + j]), b1 = take(&B[l * ldb + j + LANES]);
                    vec b2 = take(&B[l * ldb + j + 2 * LANES]);
                    vec b3 = take(&B[l * ldb + j + 3 * LANES]);
                    for (int r = 0; r < 4; r++) {
                        real a = alpha * A[(i + r) * ra + l * ca];
                        c[r][0] += a * b0;
                        c[r][1] += a * b1;
                        c[r][2] += a * b2;
                        c[r][3] += a * b3;
                    }
                }
                for (int r = 0; r < 4; r++)
                    for (int w = 0; w < 4; w++)
                        memcpy(&C[(i + r) * ldc + j + w * LANES], &c[r][w], sizeof(vec));
            }
            for (; i < n; i++)
                for (long l = l0; l < l1; l++) {
                    real a = alpha * A[i * ra + l * ca];
                    for (long x = j; x < j + WIDE; x++)
                        C[i * ldc + x] += a * B[l * ldb + x];
                }
        }
        for (long i = 0; j < m && i < n; i++)
            for (long l = l0; l < l1; l++) {
                real a = alpha * A[i * ra + l * ca];
                for (long x = j; x < m; x++)
                    C[i * ldc + x] += a * B[l * ldb + x];
            }
    }
}

/* The same by all threads, each with rows of its own. */
static inline void mm_all(long n, long m, long k, real alpha, const real *A, long ra, long ca,
                          const real *B, long ldb, real *C, long ldc)
{
    enum { ROWS = 48 };
#pragma omp parallel for schedule(dynamic)
    for (long i = 0; i < n; i += ROWS)
        mm(i + ROWS < n ? ROWS : n - i, m, k, alpha, A + i * ra, ra, ca, B, ldb, C + i * ldc, ldc);
}

static inline real *transposed(long n, long m, const real *A, real *T)
{
#pragma omp parallel for
    for (long j0 = 0; j0 < m; j0 += 16)
        for (long i = 0; i < n; i++)
            for (long j = j0; j < j0 + 16 && j < m; j++)
                T[j * n + i] = A[i * m + j];
    return T;
}
