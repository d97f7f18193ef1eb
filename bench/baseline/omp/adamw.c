#include "real.h"

void adamw(long N, real *restrict params, real *restrict grads, real *restrict m, real *restrict v,
           long t, real lr, real beta1, real beta2, real eps, real decay)
{
    real c1 = 1 - pow(beta1, (real)t), c2 = 1 - pow(beta2, (real)t);
#pragma omp parallel for simd
    for (long i = 0; i < N; i++) {
        real g = grads[i], a = beta1 * m[i] + (1 - beta1) * g;
        real b = beta2 * v[i] + (1 - beta2) * g * g;
        m[i] = a;
        v[i] = b;
        params[i] -= lr * (a / c1 / (sqrt(b / c2) + eps) + decay * params[i]);
    }
}
