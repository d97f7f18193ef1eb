#include "mm.h"
#include <stdlib.h>

void attention(long T, long S, long D, real *q, real *k, real *v, real *out)
{
    enum { ROWS = 32 };
    real *kt = transposed(S, D, k, malloc(S * D * sizeof(real)));
    real scale = 1 / sqrt((real)D);
    memset(out, 0, T * D * sizeof(real));
#pragma omp parallel
    {
        real *score = malloc(ROWS * S * sizeof(real));
#pragma omp for schedule(dynamic)
        for (long t = 0; t < T; t += ROWS) {
            long rows = t + ROWS < T ? ROWS : T - t;
            memset(score, 0, rows * S * sizeof(real));
            mm(rows, S, D, scale, q + t * D, D, 1, kt, S, score, S);
            for (long r = 0; r < rows; r++) {
                real *restrict x = score + r * S, top = x[0], total = 0;
#pragma omp simd reduction(max : top)
                for (long s = 1; s < S; s++)
                    top = x[s] > top ? x[s] : top;
#ifdef FAST
#pragma omp simd reduction(+ : total)
#endif
                for (long s = 0; s < S; s++) {
                    x[s] = exp(x[s] - top);
                    total += x[s];
                }
                total = 1 / total;
                for (long s = 0; s < S; s++)
                    x[s] *= total;
            }
            mm(rows, D, S, 1, score, S, 1, v, D, out + t * D, D);
        }
        free(score);
    }
    free(kt);
}
