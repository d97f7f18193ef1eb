#include "rows.h"
#include <string.h>

void bicg(long M, long N, real *restrict A, real *restrict s, real *restrict q, real *restrict p,
          real *restrict r)
{
    memset(s, 0, M * sizeof(real));
    memset(q, 0, N * sizeof(real));
#ifdef FAST
#pragma omp parallel for reduction(+ : s[:M])
    for (long i = 0; i < N; i++) {
        real *restrict a = A + i * M, t = 0, f = r[i];
#pragma omp simd reduction(+ : t)
        for (long j = 0; j < M; j++) {
            t += a[j] * p[j];
            s[j] += f * a[j];
        }
        q[i] = t;
    }
#else
#pragma omp parallel
    {
#pragma omp for nowait
        for (long i = 0; i < N; i += 8)
            dots(i, i + 8 < N ? i + 8 : N, M, A, p, q);
#pragma omp for
        for (long j0 = 0; j0 < M; j0 += 512)
            for (long i = 0; i < N; i++)
#pragma omp simd
                for (long j = j0; j < (j0 + 512 < M ? j0 + 512 : M); j++)
                    s[j] += r[i] * A[i * M + j];
    }
#endif
}
