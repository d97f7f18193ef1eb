#include "real.h"
#include <stdlib.h>

void durbin(long N, real r[restrict N], real y[restrict N])
{
    real *restrict z = malloc(N * sizeof(real));
    real alpha = -r[0], beta = 1;
    y[0] = -r[0];
    for (long k = 1; k < N; k++) {
        real total = 0;
        beta = (1 - alpha * alpha) * beta;
        for (long i = 0; i < k; i++)
            total += r[k - i - 1] * y[i];
        alpha = -(r[k] + total) / beta;
        for (long i = 0, j = k - 1; i <= j; i++, j--) {
            real low = y[i] + alpha * y[j], high = y[j] + alpha * y[i];
            y[i] = low;
            y[j] = high;
        }
        y[k] = alpha;
    }
    free(z);
}
