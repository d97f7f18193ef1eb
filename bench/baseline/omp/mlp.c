#include "mm.h"
#include <stdlib.h>

static real *layer(long n, long k, long m, real *x, real *w, real *b, int relu, real *out)
{
    for (long i = 0; i < n; i++)
        memcpy(out + i * m, b, m * sizeof(real));
    mm_all(n, m, k, 1, x, k, 1, w, m, out, m);
    for (long i = 0; relu && i < n * m; i++)
        out[i] = out[i] > 0 ? out[i] : 0;
    return out;
}

void mlp(long N, long C, long S0, long S1, long S2, real *input, real *w1, real *b1, real *w2,
         real *b2, real *w3, real *b3, real *out)
{
    real *first = malloc(N * S0 * sizeof(real)), *second = malloc(N * S1 * sizeof(real));
    layer(N, C, S0, input, w1, b1, 1, first);
    layer(N, S0, S1, first, w2, b2, 1, second);
    layer(N, S1, S2, second, w3, b3, 0, out);
#pragma omp parallel for
    for (long i = 0; i < N; i++) {
        real *restrict x = out + i * S2, top = x[0], total = 0;
        for (long j = 1; j < S2; j++)
            top = x[j] > top ? x[j] : top;
        for (long j = 0; j < S2; j++) {
            x[j] = exp(x[j] - top);
            total += x[j];
        }
        for (long j = 0; j < S2; j++)
            x[j] /= total;
    }
    free(second);
    free(first);
}
