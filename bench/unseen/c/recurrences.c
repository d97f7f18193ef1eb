#include "real.h"
#include <stdlib.h>

void spline_rows(long R, long N, const real *restrict y, real *restrict c, real *restrict m)
{
    c[0] = 0;
    for (long i = 1; i < N - 1; i++)
        c[i] = 1 / (4 - c[i - 1]);
    #pragma omp parallel for
    for (long r = 0; r < R; r++) {
        const real *a = y + r * N;
        real *b = m + r * N;
        b[0] = b[N - 1] = 0;
        for (long i = 1; i < N - 1; i++)
            b[i] = (6 * (a[i - 1] - 2 * a[i] + a[i + 1]) - b[i - 1]) * c[i];
        for (long i = N - 2; i > 0; i--)
            b[i] -= c[i] * b[i + 1];
    }
}

void macd(long T, long S, const real *restrict price, real *restrict fast, real *restrict slow,
          real *restrict sign, real *restrict out)
{
    for (long s = 0; s < S; s++) {
        fast[s] = slow[s] = price[s];
        sign[s] = 0;
    }
    #pragma omp parallel
    for (long t = 0; t < T; t++) {
        /* the same series for the same thread at each time */
        #pragma omp for simd schedule(static) nowait
        for (long s = 0; s < S; s++) {
            fast[s] += 0.1538 * (price[t * S + s] - fast[s]);
            slow[s] += 0.0741 * (price[t * S + s] - slow[s]);
            sign[s] += 0.2 * (fast[s] - slow[s] - sign[s]);
            out[t * S + s] = fast[s] - slow[s] - sign[s];
        }
    }
}

void time_warping(long N, long M, const real *restrict x, const real *restrict y,
                  real *restrict cost)
{
    long W = M + 1;
    cost[0] = 0;
    for (long i = 1; i <= N; i++)
        cost[i * W] = 0.5 * i;
    for (long j = 1; j <= M; j++)
        cost[j] = 0.5 * j;
    for (long i = 1; i <= N; i++)
        for (long j = 1; j <= M; j++) {
            real up = cost[(i - 1) * W + j], left = cost[i * W + j - 1];
            real both = cost[(i - 1) * W + j - 1];
            real best = up < left ? up : left;
            best = both < best ? both : best;
            cost[i * W + j] = fabs(x[i - 1] - y[j - 1]) + best;
        }
}

void drawdown(long T, long S, const real *restrict returns, real *restrict out)
{
    real *restrict wealth = malloc(2 * S * sizeof *wealth);
    real *restrict peak = wealth + S;
    for (long s = 0; s < S; s++) {
        wealth[s] = 1;
        peak[s] = 0;
        out[s] = 1;
    }
    #pragma omp parallel
    for (long t = 0; t < T; t++) {
        #pragma omp for simd schedule(static) nowait
        for (long s = 0; s < S; s++) {
            real w = wealth[s] * (1 + returns[t * S + s]);
            real p = peak[s] > w ? peak[s] : w;
            real d = w / p - 1;
            wealth[s] = w;
            peak[s] = p;
            out[s] = d < out[s] ? d : out[s];
        }
    }
    free(wealth);
}

void lifting(long H, long W, real *restrict x)
{
    long N = 2 * H + 1, M = 2 * W + 1;
    #pragma omp parallel for
    for (long i = 0; i < N; i++) {
        real *r = x + i * M;
        for (long j = 0; j < M / 2; j++)
            r[2 * j + 1] -= 0.5 * (r[2 * j] + r[2 * j + 2]);
        for (long j = 1; j < M / 2; j++)
            r[2 * j] += 0.25 * (r[2 * j - 1] + r[2 * j + 1]);
    }
    #pragma omp parallel for
    for (long i = 0; i < N / 2; i++) {
        real *r = x + (2 * i + 1) * M;
        #pragma omp simd
        for (long j = 0; j < M; j++)
            r[j] -= 0.5 * (r[j - M] + r[j + M]);
    }
    #pragma omp parallel for
    for (long i = 1; i < N / 2; i++) {
        real *r = x + 2 * i * M;
        #pragma omp simd
        for (long j = 0; j < M; j++)
            r[j] += 0.25 * (r[j - M] + r[j + M]);
    }
}

void kepler(long N, const real *restrict anomaly, const real *restrict eccentricity,
            real *restrict out)
{
    #pragma omp parallel for simd
    for (long i = 0; i < N; i++) {
        real e = eccentricity[i], a = anomaly[i], angle = a + e * sin(a);
        for (int k = 0; k < 6; k++)
            angle -= (angle - e * sin(angle) - a) / (1 - e * cos(angle));
        out[i] = angle;
    }
}
