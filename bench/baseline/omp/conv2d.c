#include "mm.h"

/* A row of pixels times one row of weights: pixels lie C_in apart, so it is a matrix product. */
void conv2d(long K, long N, long H, long W, long C_in, long C_out, real *input, real *weights,
            real *bias, real *output)
{
    long ho = H - K + 1, wo = W - K + 1;
#pragma omp parallel for collapse(2)
    for (long n = 0; n < N; n++)
        for (long i = 0; i < ho; i++) {
            real *o = output + (n * ho + i) * wo * C_out;
            for (long j = 0; j < wo; j++)
                for (long c = 0; c < C_out; c++)
                    o[j * C_out + c] = bias[c];
            for (long p = 0; p < K; p++)
                mm(wo, C_out, K * C_in, 1, input + (n * H + i + p) * W * C_in, C_in, 1,
                   weights + p * K * C_in * C_out, C_out, o, C_out);
        }
}
