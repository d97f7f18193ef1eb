#include "real.h"

void gelu_backward(long N, long C, real *restrict dx, real *restrict x, real *restrict dout)
{
    real scale = R(0.7978845608028654);
#pragma omp parallel for simd
    for (long i = 0; i < N * C; i++) {
        real v = x[i], u = scale * (v + R(0.044715) * v * v * v);
        real e = exp(-2 * u), s = 1 / (1 + e), t = 2 * s - 1;
        real local = s + R(0.5) * v * (1 - t * t) * scale * (1 + 3 * R(0.044715) * v * v);
        dx[i] += local * dout[i];
    }
}
