#include "rows.h"

void rmsnorm(long N, long C, real *restrict x, real *restrict weight, real *restrict out)
{
#pragma omp parallel for
    for (long i = 0; i < N; i++) {
        const real *restrict a = x + i * C;
        real *restrict o = out + i * C, total = 0;
#ifdef FAST
        total = dot(C, a, a, 0);
#else
        for (long c = 0; c < C; c++)
            total += a[c] * a[c];
#endif
        real scale = 1 / sqrt(total / C + R(1e-5));
#pragma omp simd
        for (long c = 0; c < C; c++)
            o[c] = weight[c] * (scale * a[c]);
    }
}
