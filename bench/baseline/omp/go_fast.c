#include "real.h"

void go_fast(long N, real *restrict a, real *restrict out)
{
    real trace = 0;
    for (long i = 0; i < N; i++)
        trace += tanh(a[i * N + i]);
#pragma omp parallel for simd
    for (long i = 0; i < N * N; i++)
        out[i] = a[i] + trace;
}
