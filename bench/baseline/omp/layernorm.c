#include "real.h"

void layernorm(long N, long C, real *restrict x, real *restrict weight, real *restrict bias,
               real *restrict out, real *restrict mean, real *restrict rstd)
{
#pragma omp parallel for
    for (long i = 0; i < N; i++) {
        const real *restrict a = x + i * C;
        real *restrict o = out + i * C, m = 0, v = 0;
#ifdef FAST
#pragma omp simd reduction(+ : m)
#endif
        for (long c = 0; c < C; c++)
            m += a[c];
        m /= C;
#ifdef FAST
#pragma omp simd reduction(+ : v)
#endif
        for (long c = 0; c < C; c++)
            v += (a[c] - m) * (a[c] - m);
        real s = 1 / sqrt(v / C + R(1e-5));
#pragma omp simd
        for (long c = 0; c < C; c++)
            o[c] = s * (a[c] - m) * weight[c] + bias[c];
        mean[i] = m;
        rstd[i] = s;
    }
}
