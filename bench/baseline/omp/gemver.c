#include "rows.h"

void gemver(long N, real alpha, real beta, real *restrict A, real *restrict u1, real *restrict v1,
            real *restrict u2, real *restrict v2, real *restrict w, real *restrict x,
            real *restrict y, real *restrict z)
{
#ifdef FAST
#pragma omp parallel for reduction(+ : x[:N])
    for (long i = 0; i < N; i++) {
        real *restrict a = A + i * N, f = beta * y[i], p = u1[i], q = u2[i];
#pragma omp simd
        for (long j = 0; j < N; j++) {
            real t = a[j] + p * v1[j] + q * v2[j];
            a[j] = t;
            x[j] += f * t;
        }
    }
#else
#pragma omp parallel for
    for (long j0 = 0; j0 < N; j0 += 512)
        for (long i = 0; i < N; i++) {
            real *restrict a = A + i * N;
#pragma omp simd
            for (long j = j0; j < (j0 + 512 < N ? j0 + 512 : N); j++) {
                real t = a[j] + u1[i] * v1[j] + u2[i] * v2[j];
                a[j] = t;
                x[j] = x[j] + beta * t * y[i];
            }
        }
#endif
    for (long i = 0; i < N; i++)
        x[i] += z[i];
#ifdef FAST
#pragma omp parallel for
    for (long i = 0; i < N; i++)
        w[i] += alpha * dot(N, A + i * N, x, 0);
#else
#pragma omp parallel for
    for (long i = 0; i < N; i += 8) {
        long rows = i + 8 < N ? 8 : N - i;
        real s[8];
        for (long r = 0; r < rows; r++)
            s[r] = w[i + r];
        if (rows == 8)
            for (long j = 0; j < N; j++)
                for (int r = 0; r < 8; r++)
                    s[r] += alpha * A[(i + r) * N + j] * x[j];
        else
            for (long j = 0; j < N; j++)
                for (long r = 0; r < rows; r++)
                    s[r] += alpha * A[(i + r) * N + j] * x[j];
        for (long r = 0; r < rows; r++)
            w[i + r] = s[r];
    }
#endif
}
