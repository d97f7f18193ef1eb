#include "real.h"

void layernorm_backward(long B, long T, long C, real *restrict dx, real *restrict dweight,
                        real *restrict dbias, real *restrict dout, real *restrict x,
                        real *restrict weight, real *restrict mean, real *restrict rstd)
{
#ifdef FAST
#pragma omp parallel for reduction(+ : dweight[:C], dbias[:C])
#else
#pragma omp parallel for
#endif
    for (long i = 0; i < B * T; i++) {
        const real *restrict a = x + i * C, *restrict d = dout + i * C;
        real *restrict o = dx + i * C, m = mean[i], s = rstd[i], sum = 0, mixed = 0;
#ifdef FAST
#pragma omp simd reduction(+ : sum, mixed)
#endif
        for (long c = 0; c < C; c++) {
            real norm = (a[c] - m) * s, dnorm = weight[c] * d[c];
            sum += dnorm;
            mixed += dnorm * norm;
        }
        sum /= C;
        mixed /= C;
#pragma omp simd
        for (long c = 0; c < C; c++) {
            real norm = (a[c] - m) * s, dnorm = weight[c] * d[c];
#ifdef FAST
            dbias[c] += d[c];
            dweight[c] += norm * d[c];
#endif
            o[c] += (dnorm - sum - norm * mixed) * s;
        }
    }
#ifndef FAST
#pragma omp parallel for
    for (long c0 = 0; c0 < C; c0 += 64)
        for (long i = 0; i < B * T; i++)
            for (long c = c0; c < c0 + 64 && c < C; c++) {
                real d = dout[i * C + c];
                dbias[c] += d;
                dweight[c] += (x[i * C + c] - mean[i]) * rstd[i] * d;
            }
#endif
}
