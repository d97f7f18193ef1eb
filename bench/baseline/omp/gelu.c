#include "real.h"

void gelu(long N, long C, real *restrict x, real *restrict out)
{
#pragma omp parallel for simd
    for (long i = 0; i < N * C; i++) {
        real v = x[i], u = R(0.7978845608028654) * (v + R(0.044715) * v * v * v);
        real s = 1 / (1 + exp(-2 * u));
        out[i] = v * s;
    }
}
