#include "real.h"
#include <stdlib.h>

void adi(long TSTEPS, long N, real u[restrict N][N])
{
    enum { WIDE = 16 };
    real (*v)[N] = calloc(N * N, sizeof(real));
    real DX = R(1.0) / N, DY = R(1.0) / N, DT = R(1.0) / TSTEPS;
    real mul1 = R(2.0) * DT / (DX * DX), mul2 = R(1.0) * DT / (DY * DY);
    real a = -mul1 / R(2.0), b = R(1.0) + mul1, c = a;
    real d = -mul2 / R(2.0), e = R(1.0) + mul2, f = d;
#pragma omp parallel
    {
        real(*p)[WIDE] = malloc(N * sizeof *p), (*q)[WIDE] = malloc(N * sizeof *q);
        for (long t = 0; t < TSTEPS; t++) {
#pragma omp for
            for (long i0 = 1; i0 < N - 1; i0 += WIDE) {
                long n = i0 + WIDE < N - 1 ? WIDE : N - 1 - i0;
                for (long x = 0; x < n; x++) {
                    v[0][i0 + x] = 1;
                    p[0][x] = 0;
                    q[0][x] = 1;
                }
                for (long j = 1; j < N - 1; j++)
#pragma omp simd
                    for (long x = 0; x < n; x++) {
                        long i = i0 + x;
                        real under = a * p[j - 1][x] + b;
                        p[j][x] = -c / under;
                        q[j][x] = (-d * u[j][i - 1] + (1 + 2 * d) * u[j][i] - f * u[j][i + 1] -
                                   a * q[j - 1][x]) / under;
                    }
                for (long x = 0; x < n; x++)
                    v[N - 1][i0 + x] = 1;
                for (long j = N - 2; j > 0; j--)
#pragma omp simd
                    for (long x = 0; x < n; x++)
                        v[j][i0 + x] = p[j][x] * v[j + 1][i0 + x] + q[j][x];
            }
#pragma omp for
            for (long i0 = 1; i0 < N - 1; i0 += WIDE) {
                long n = i0 + WIDE < N - 1 ? WIDE : N - 1 - i0;
                for (long x = 0; x < n; x++) {
                    u[i0 + x][0] = 1;
                    p[0][x] = 0;
                    q[0][x] = 1;
                }
                for (long j = 1; j < N - 1; j++)
#pragma omp simd
                    for (long x = 0; x < n; x++) {
                        long i = i0 + x;
                        real under = d * p[j - 1][x] + e;
                        p[j][x] = -f / under;
                        q[j][x] = (-a * v[i - 1][j] + (1 + 2 * a) * v[i][j] - c * v[i + 1][j] -
                                   d * q[j - 1][x]) / under;
                    }
                for (long x = 0; x < n; x++)
                    u[i0 + x][N - 1] = 1;
                for (long j = N - 2; j > 0; j--)
#pragma omp simd
                    for (long x = 0; x < n; x++)
                        u[i0 + x][j] = p[j][x] * u[i0 + x][j + 1] + q[j][x];
            }
        }
        free(p);
        free(q);
    }
    free(v);
}
