#include "real.h"

void bias_relu(long N, long C, real *restrict x, real *restrict bias, real *restrict out)
{
#pragma omp parallel for
    for (long i = 0; i < N; i++)
#pragma omp simd
        for (long j = 0; j < C; j++) {
            real value = x[i * C + j] + bias[j];
            out[i * C + j] = value > 0 ? value : 0;
        }
}
