#include "real.h"
#include <stdlib.h>

void durbin(long N, real r[restrict N], real y[restrict N])
{
    real *z = malloc(N * sizeof(real));
    real alpha = -r[0], beta = R(1.0);
    y[0] = -r[0];
    for (long k = 1; k < N; k++) {
        beta = (R(1.0) - alpha * alpha) * beta;
        real total = R(0.0);
        for (long i = 0; i < k; i++)
            total += r[k - i - 1] * y[i];
        alpha = -(r[k] + total) / beta;
        for (long i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (long i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
    free(z);
}
