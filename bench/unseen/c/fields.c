#include "real.h"
#include <math.h>

void csr_product(long N, long K, const long *restrict start, const long *restrict column,
                 const real *restrict value, const real *restrict x, real *restrict y)
{
    (void)K;
    #pragma omp parallel for
    for (long i = 0; i < N; i++) {
        real total = 0;
        for (long k = start[i]; k < start[i + 1]; k++)
            total += value[k] * x[column[k]];
        y[i] = total;
    }
}

void page_rank(long N, long K, long steps, const long *restrict start,
               const long *restrict column, const real *restrict degree, real *restrict rank,
               real *restrict fresh)
{
    (void)K;
    for (long t = 0; t < steps; t++) {
        #pragma omp parallel for
        for (long i = 0; i < N; i++) {
            real total = 0;
            for (long k = start[i]; k < start[i + 1]; k++)
                total += rank[column[k]] / degree[column[k]];
            fresh[i] = (real)0.15 / N + (real)0.85 * total;
        }
        #pragma omp parallel for simd
        for (long i = 0; i < N; i++)
            rank[i] = fresh[i];
    }
}

void dilate(long H, long W, const real *restrict img, real *restrict out)
{
    #pragma omp parallel for
    for (long i = 1; i < H - 1; i++) {
        #pragma omp simd
        for (long j = 1; j < W - 1; j++) {
            real most = img[i * W + j];
            for (long p = -1; p <= 1; p++)
                for (long q = -1; q <= 1; q++) {
                    real v = img[(i + p) * W + j + q];
                    most = v > most ? v : most;
                }
            out[i * W + j] = most;
        }
    }
}

static inline long most(long a, long b) { return a > b ? a : b; }

void local_alignment(long N, long M, const long *restrict a, const long *restrict b,
                     long *restrict h)
{
    long w = M + 1;
    for (long i = 1; i <= N; i++)
        for (long j = 1; j <= M; j++) {
            long match = h[(i - 1) * w + j - 1] + (a[i - 1] == b[j - 1] ? 2 : -1);
            long gap = most(h[(i - 1) * w + j], h[i * w + j - 1]) - 1;
            h[i * w + j] = most(most(match, 0), gap);
        }
}

void histogram_2d(long N, long B, const real *restrict x, const real *restrict y,
                  long *restrict counts)
{
    for (long n = 0; n < N; n++)
        counts[(long)(x[n] * B) * B + (long)(y[n] * B)]++;
}

void american_put(long N, real *restrict v, double rise, double fall, double strike,
                  const real *restrict price, double discount)
{
    real up = discount * rise, down = discount * fall, k = strike;
    for (long i = 0; i < N; i++)
        v[i] = k - price[i] > 0 ? k - price[i] : 0;
    for (long step = 1; step < N; step++) {
        #pragma omp simd
        for (long i = 0; i < N - step; i++) {
            real wait = up * v[i + 1] + down * v[i], now = k - price[i];
            v[i] = wait > now ? wait : now;
        }
    }
}

void bollinger(long T, long S, const real *restrict p, real *restrict upper,
               real *restrict lower)
{
    #pragma omp parallel for
    for (long block = 0; block < S; block += 64) {
        long width = S - block < 64 ? S - block : 64;
        real total[64] = {0}, squares[64] = {0};
        for (long t = 0; t < T; t++) {
            const real *row = p + t * S + block, *old = row - 20 * S;
            if (t >= 20) {
                #pragma omp simd
                for (long s = 0; s < width; s++) {
                    total[s] -= old[s];
                    squares[s] -= old[s] * old[s];
                }
            }
            #pragma omp simd
            for (long s = 0; s < width; s++) {
                total[s] += row[s];
                squares[s] += row[s] * row[s];
                real mean = total[s] / 20;
                real spread = 2 * sqrt(fabs(squares[s] / 20 - mean * mean) + 0.01);
                upper[t * S + block + s] = mean + spread;
                lower[t * S + block + s] = mean - spread;
            }
        }
    }
}

void mahalanobis(long N, long D, const real *restrict X, const real *restrict mean,
                 const real *restrict inverse, real *restrict out)
{
    #pragma omp parallel for
    for (long n = 0; n < N; n++) {
        real centred[D], product[D], total = 0;
        for (long d = 0; d < D; d++) {
            centred[d] = X[n * D + d] - mean[d];
            product[d] = 0;
        }
        for (long k = 0; k < D; k++) {
            #pragma omp simd
            for (long d = 0; d < D; d++)
                product[d] += centred[k] * inverse[k * D + d];
        }
        for (long d = 0; d < D; d++)
            total += product[d] * centred[d];
        out[n] = sqrt(total);
    }
}

void resonators(long C, long N, const real *restrict x, const real *restrict gain,
                const real *restrict a1, const real *restrict a2, real *restrict y)
{
    #pragma omp parallel for
    for (long c = 0; c < C; c++)
        for (long n = 2; n < N; n++)
            y[c * N + n] = gain[c] * x[n] - a1[c] * y[c * N + n - 1] - a2[c] * y[c * N + n - 2];
}
