#include "real.h"
#include <stdlib.h>
#include <string.h>

void conv2d_nchw(long K, long N, long C, long H, long W, long O, real *restrict x,
                 real *restrict weight, real *restrict out)
{
    long ho = (H + 2 - K) / 2 + 1, wo = (W + 2 - K) / 2 + 1;
#pragma omp parallel
    {
        real *restrict row = malloc(K * wo * sizeof(real));
#pragma omp for collapse(2)
        for (long n = 0; n < N; n++)
            for (long i = 0; i < ho; i++) {
                for (long o = 0; o < O; o++)
                    memset(out + ((n * O + o) * ho + i) * wo, 0, wo * sizeof(real));
                for (long c = 0; c < C; c++)
                    for (long p = 0; p < K; p++) {
                        long h = 2 * i + p - 1;
                        if (h < 0 || h >= H)
                            continue;
                        const real *a = x + ((n * C + c) * H + h) * W;
                        for (long q = 0; q < K; q++)
                            for (long j = 0; j < wo; j++) {
                                long w = 2 * j + q - 1;
                                row[q * wo + j] = w >= 0 && w < W ? a[w] : 0;
                            }
                        for (long o = 0; o < O; o++) {
                            real *restrict r = out + ((n * O + o) * ho + i) * wo;
                            for (long q = 0; q < K; q++) {
                                real f = weight[((o * C + c) * K + p) * K + q];
#pragma omp simd
                                for (long j = 0; j < wo; j++)
                                    r[j] += f * row[q * wo + j];
                            }
                        }
                    }
            }
        free(row);
    }
}
