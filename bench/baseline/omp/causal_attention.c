#include "mm.h"
#include <stdlib.h>

void causal_attention(long B, long T, long H, long D, real *qkv, real *out, real *preatt,
                      real *att)
{
    enum { ROWS = 32 };
    real scale = 1 / sqrt((real)D);
    long row = 3 * H * D;
#pragma omp parallel
    {
        real *kt = malloc(T * D * sizeof(real));
#pragma omp for collapse(2)
        for (long b = 0; b < B; b++)
            for (long h = 0; h < H; h++) {
                real *q = qkv + b * T * row + h * D, *k = q + H * D, *v = k + H * D;
                real *p = preatt + (b * H + h) * T * T, *a = att + (b * H + h) * T * T;
                real *o = out + b * T * H * D + h * D;
                for (long s = 0; s < T; s++)
                    for (long d = 0; d < D; d++)
                        kt[d * T + s] = k[s * row + d];
                for (long t0 = 0; t0 < T; t0 += ROWS) {
                    long rows = t0 + ROWS < T ? ROWS : T - t0, seen = t0 + rows;
                    for (long r = 0; r < rows; r++)
                        memset(p + (t0 + r) * T, 0, T * sizeof(real));
                    mm(rows, seen, D, scale, q + t0 * row, row, 1, kt, T, p + t0 * T, T);
                    for (long t = t0; t < seen; t++) {
                        real *restrict x = p + t * T, *restrict y = a + t * T;
                        real top = x[0], total = 0;
#pragma omp simd reduction(max : top)
                        for (long s = 1; s <= t; s++)
                            top = x[s] > top ? x[s] : top;
#ifdef FAST
#pragma omp simd reduction(+ : total)
#endif
                        for (long s = 0; s <= t; s++) {
                            y[s] = exp(x[s] - top);
                            total += y[s];
                        }
                        total = 1 / total;
                        for (long s = 0; s <= t; s++)
                            y[s] *= total;
                        for (long s = t + 1; s < T; s++)
                            x[s] = y[s] = 0;
                        memset(o + t * H * D, 0, D * sizeof(real));
                    }
                    mm(rows, D, seen, 1, a + t0 * T, T, 1, v, row, o + t0 * H * D, H * D);
                }
            }
        free(kt);
    }
}
