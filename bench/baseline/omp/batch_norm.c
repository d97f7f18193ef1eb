#include "real.h"

void batch_norm(long N, long C, long H, long W, real *restrict x, real *restrict gamma_,
                real *restrict beta, real *restrict running_mean, real *restrict running_var,
                real *restrict out)
{
    long n = H * W;
#pragma omp parallel for
    for (long c = 0; c < C; c++) {
        real m = 0, v = 0;
        for (long b = 0; b < N; b++) {
            const real *restrict a = x + (b * C + c) * n;
            real part = 0;
#pragma omp simd reduction(+ : part)
            for (long k = 0; k < n; k++)
                part += a[k];
            m += part;
        }
        m /= N * n;
        for (long b = 0; b < N; b++) {
            const real *restrict a = x + (b * C + c) * n;
            real part = 0;
#pragma omp simd reduction(+ : part)
            for (long k = 0; k < n; k++)
                part += (a[k] - m) * (a[k] - m);
            v += part;
        }
        v /= N * n;
        running_mean[c] = R(0.9) * running_mean[c] + R(0.1) * m;
        running_var[c] = R(0.9) * running_var[c] + R(0.1) * v;
        real s = gamma_[c] / sqrt(v + R(1e-5));
        for (long b = 0; b < N; b++) {
            const real *restrict a = x + (b * C + c) * n;
            real *restrict o = out + (b * C + c) * n;
#pragma omp simd
            for (long k = 0; k < n; k++)
                o[k] = (a[k] - m) * s + beta[c];
        }
    }
}
