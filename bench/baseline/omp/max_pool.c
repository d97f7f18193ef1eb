#include "real.h"

static inline real larger(real a, real b)
{
    return a > b ? a : b;
}

void max_pool(long N, long H, long W, long C, real *restrict x, real *restrict out)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < N; n++)
        for (long i = 0; i < H / 2; i++)
            for (long j = 0; j < W / 2; j++) {
                const real *a = x + ((n * H + 2 * i) * W + 2 * j) * C, *b = a + W * C;
                real *restrict o = out + ((n * (H / 2) + i) * (W / 2) + j) * C;
#pragma omp simd
                for (long c = 0; c < C; c++)
                    o[c] = larger(larger(a[c], a[C + c]), larger(b[c], b[C + c]));
            }
}
