#include "real.h"
#include <stdlib.h>
#include <string.h>

void fir_bank(long N, long C, long K, const real *restrict x, const real *restrict taps,
              real *restrict y)
{
    #pragma omp parallel for
    for (long c = 0; c < C; c++)
        for (long n = 0; n < N; n++) {
            real acc = 0;
            for (long k = 0; k < K; k++)
                acc += taps[c * K + k] * x[n + k];
            y[c * N + n] = acc;
        }
}

void autocovariance(long N, long L, const real *restrict x, real *restrict out)
{
    real mean = 0;
    #pragma omp parallel for simd reduction(+ : mean)
    for (long n = 0; n < N; n++)
        mean += x[n];
    mean /= N;
    #pragma omp parallel for
    for (long lag = 0; lag < L; lag++) {
        real total = 0;
        #pragma omp simd reduction(+ : total)
        for (long n = 0; n < N - lag; n++)
            total += (x[n] - mean) * (x[n + lag] - mean);
        out[lag] = total / N;
    }
}

void reaction_spots(long N, long M, long steps, real *restrict u, real *restrict v, double feed,
                double kill)
{
    real f = feed, k = kill;
    real *restrict a = malloc(2 * N * M * sizeof *a), *restrict b = a + N * M;
    memcpy(a, u, N * M * sizeof *a);
    memcpy(b, v, N * M * sizeof *b);
    for (long t = 0; t < steps; t++) {
        #pragma omp parallel for
        for (long i = 1; i < N - 1; i++) {
            #pragma omp simd
            for (long p = i * M + 1; p < i * M + M - 1; p++) {
                real lu = a[p - M] + a[p + M] + a[p - 1] + a[p + 1] - 4 * a[p];
                real lv = b[p - M] + b[p + M] + b[p - 1] + b[p + 1] - 4 * b[p];
                real uvv = a[p] * b[p] * b[p];
                u[p] = a[p] + (real)0.16 * lu - uvv + f * (1 - a[p]);
                v[p] = b[p] + (real)0.08 * lv + uvv - (f + k) * b[p];
            }
        }
        #pragma omp parallel for
        for (long i = 1; i < N - 1; i++) {
            memcpy(a + i * M + 1, u + i * M + 1, (M - 2) * sizeof *a);
            memcpy(b + i * M + 1, v + i * M + 1, (M - 2) * sizeof *b);
        }
    }
    free(a);
}

void great_circles(long N, long M, const real *restrict lat, const real *restrict lon,
                   const real *restrict lat0, const real *restrict lon0, real *restrict out)
{
    real *restrict c = malloc(M * sizeof *c);
    for (long j = 0; j < M; j++)
        c[j] = cos(lat0[j]);
    #pragma omp parallel for
    for (long i = 0; i < N; i++) {
        real ci = cos(lat[i]);
        #pragma omp simd
        for (long j = 0; j < M; j++) {
            real h = sin((real)0.5 * (lat[i] - lat0[j])), t = sin((real)0.5 * (lon[i] - lon0[j]));
            out[i * M + j] = 12742 * sqrt(h * h + ci * c[j] * t * t);
        }
    }
    free(c);
}

void volatility(long T, long S, const real *restrict r, real *restrict var, real *restrict score)
{
    for (long s = 0; s < S; s++) {
        var[s] = 0.0001;
        score[s] = 0;
    }
    #pragma omp parallel
    for (long t = 1; t < T; t++) {
        /* the same series for the same thread at each time */
        #pragma omp for simd schedule(static) nowait
        for (long s = 0; s < S; s++) {
            real old = r[(t - 1) * S + s];
            real now = (real)0.94 * var[(t - 1) * S + s] + (real)0.06 * old * old;
            var[t * S + s] = now;
            score[t * S + s] = r[t * S + s] / sqrt(now);
        }
    }
}

void nearest(long N, long M, long D, const real *restrict X, const real *restrict Y,
             real *restrict out)
{
    #pragma omp parallel for
    for (long i = 0; i < N; i++) {
        real best = INFINITY;
        for (long j = 0; j < M; j++) {
            real total = 0;
            for (long d = 0; d < D; d++) {
                real difference = X[i * D + d] - Y[j * D + d];
                total += difference * difference;
            }
            best = total < best ? total : best;
        }
        out[i] = best;
    }
}

void thomas_columns(long N, long S, const real *restrict a, const real *restrict b,
                    const real *restrict c, real *restrict d, real *restrict work)
{
    for (long s = 0; s < S; s++) {
        work[s] = c[s] / b[s];
        d[s] = d[s] / b[s];
    }
    #pragma omp parallel
    {
        for (long i = 1; i < N; i++) {
            #pragma omp for simd schedule(static) nowait
            for (long s = 0; s < S; s++) {
                long p = i * S + s;
                real pivot = 1 / (b[p] - a[p] * work[p - S]);
                work[p] = c[p] * pivot;
                d[p] = (d[p] - a[p] * d[p - S]) * pivot;
            }
        }
        for (long i = N - 2; i >= 0; i--) {
            #pragma omp for simd schedule(static) nowait
            for (long s = 0; s < S; s++)
                d[i * S + s] -= work[i * S + s] * d[(i + 1) * S + s];
        }
    }
}

void local_contrast(long H, long W, const real *restrict img, real *restrict out)
{
    #pragma omp parallel for
    for (long i = 0; i < H - 4; i++) {
        #pragma omp simd
        for (long j = 0; j < W - 4; j++) {
            real total = 0, squares = 0;
            for (long p = 0; p < 5; p++)
                for (long q = 0; q < 5; q++) {
                    real x = img[(i + p) * W + j + q];
                    total += x;
                    squares += x * x;
                }
            real mean = total / 25;
            out[i * (W - 4) + j] = (img[(i + 2) * W + j + 2] - mean)
                                   / sqrt(squares / 25 - mean * mean + (real)0.01);
        }
    }
}
