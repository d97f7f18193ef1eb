#include "real.h"
#include <stdlib.h>

void deriche(long W, long H, real alpha, real imgIn[restrict W][H], real imgOut[restrict W][H])
{
    enum { WIDE = 128 / sizeof(real) };
    real(*y1)[H] = malloc(W * H * sizeof(real));
    real k = (1 - exp(-alpha)) * (1 - exp(-alpha));
    k = k / (1 + 2 * alpha * exp(-alpha) - exp(2 * alpha));
    real a1 = k, a2 = k * exp(-alpha) * (alpha - 1), a3 = k * exp(-alpha) * (alpha + 1);
    real a4 = -k * exp(-2 * alpha), b1 = pow(R(2.0), -alpha), b2 = -exp(-2 * alpha);
#pragma omp parallel
    {
        real *restrict y = malloc(8 * H * sizeof(real));
        real(*z)[WIDE] = malloc(W * sizeof *z);
#pragma omp for
        for (long i0 = 0; i0 < W; i0 += 8) {
            long n = i0 + 8 < W ? 8 : W - i0;
            real m1[8] = {0}, m2[8] = {0}, x1[8] = {0}, x2[8] = {0};
            for (long j = 0; j < H; j++)
                for (long r = 0; r < n; r++) {
                    real x = imgIn[i0 + r][j];
                    real v = a1 * x + a2 * x1[r] + b1 * m1[r] + b2 * m2[r];
                    y[r * H + j] = v;
                    x1[r] = x;
                    m2[r] = m1[r];
                    m1[r] = v;
                }
            for (long r = 0; r < 8; r++)
                m1[r] = m2[r] = x1[r] = x2[r] = 0;
            for (long j = H - 1; j >= 0; j--)
                for (long r = 0; r < n; r++) {
                    real v = a3 * x1[r] + a4 * x2[r] + b1 * m1[r] + b2 * m2[r];
                    x2[r] = x1[r];
                    x1[r] = imgIn[i0 + r][j];
                    m2[r] = m1[r];
                    m1[r] = v;
                    y1[i0 + r][j] = y[r * H + j] + v;
                }
        }
#pragma omp for
        for (long j0 = 0; j0 < H; j0 += WIDE) {
            long n = j0 + WIDE < H ? WIDE : H - j0;
            real m1[WIDE] = {0}, m2[WIDE] = {0}, x1[WIDE] = {0}, x2[WIDE] = {0};
            for (long i = 0; i < W; i++)
#pragma omp simd
                for (long j = 0; j < n; j++) {
                    real x = y1[i][j0 + j];
                    real v = a1 * x + a2 * x1[j] + b1 * m1[j] + b2 * m2[j];
                    z[i][j] = v;
                    x1[j] = x;
                    m2[j] = m1[j];
                    m1[j] = v;
                }
            for (long j = 0; j < WIDE; j++)
                m1[j] = m2[j] = x1[j] = x2[j] = 0;
            for (long i = W - 1; i >= 0; i--)
#pragma omp simd
                for (long j = 0; j < n; j++) {
                    real v = a3 * x1[j] + a4 * x2[j] + b1 * m1[j] + b2 * m2[j];
                    x2[j] = x1[j];
                    x1[j] = y1[i][j0 + j];
                    m2[j] = m1[j];
                    m1[j] = v;
                    imgOut[i][j0 + j] = z[i][j] + v;
                }
        }
        free(z);
        free(y);
    }
    free(y1);
}
