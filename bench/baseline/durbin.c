#include <stdlib.h>

void durbin(long N, double r[restrict N], double y[restrict N])
{
    double *z = malloc(N * sizeof(double));
    double alpha = -r[0], beta = 1.0;
    y[0] = -r[0];
    for (long k = 1; k < N; k++) {
        beta = (1.0 - alpha * alpha) * beta;
        double total = 0.0;
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
