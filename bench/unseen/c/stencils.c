#include "real.h"
#include <stdlib.h>
#include <string.h>

static inline real larger(real a, real b) { return a > b ? a : b; }
static inline real smaller(real a, real b) { return a < b ? a : b; }

void upwind(long N, long M, long steps, real *restrict c, const real *restrict u,
            const real *restrict v, double dt)
{
    real *restrict old = malloc(N * M * sizeof *old);
    memcpy(old, c, N * M * sizeof *old);
    real h = dt;
    for (long t = 0; t < steps; t++) {
        #pragma omp parallel for
        for (long i = 1; i < N - 1; i++) {
            const real *o = old + i * M, *a = u + (i - 1) * (M - 2) - 1, *b = v + (i - 1) * (M - 2) - 1;
            #pragma omp simd
            for (long j = 1; j < M - 1; j++) {
                real fx = larger(a[j], 0) * (o[j] - o[j - 1]) + smaller(a[j], 0) * (o[j + 1] - o[j]);
                real fy = larger(b[j], 0) * (o[j] - o[j - M]) + smaller(b[j], 0) * (o[j + M] - o[j]);
                c[i * M + j] = o[j] - h * (fx + fy);
            }
        }
        #pragma omp parallel for
        for (long i = 1; i < N - 1; i++)
            memcpy(old + i * M + 1, c + i * M + 1, (M - 2) * sizeof *old);
    }
    free(old);
}

void diffusion_3d(long N, long M, long L, long steps, real *restrict a, real *restrict b,
                  const real *restrict k)
{
    long X = M * L;
    for (long t = 0; t < steps; t++) {
        #pragma omp parallel for
        for (long x = 1; x < N - 1; x++)
            for (long y = 1; y < M - 1; y++)
                for (long z = 1; z < L - 1; z++) {
                    const real *p = a + x * X + y * L + z, *q = k + x * X + y * L + z;
                    b[x * X + y * L + z] = p[0] + 0.1 * (
                        (q[X] + q[0]) * (p[X] - p[0]) - (q[-X] + q[0]) * (p[0] - p[-X])
                        + (q[L] + q[0]) * (p[L] - p[0]) - (q[-L] + q[0]) * (p[0] - p[-L])
                        + (q[1] + q[0]) * (p[1] - p[0]) - (q[-1] + q[0]) * (p[0] - p[-1]));
                }
        #pragma omp parallel for
        for (long x = 1; x < N - 1; x++)
            for (long y = 1; y < M - 1; y++)
                for (long z = 1; z < L - 1; z++)
                    a[x * X + y * L + z] = b[x * X + y * L + z];
    }
}

void wave_fourth_order(long N, long M, long steps, real *prev, real *cur,
                       const real *restrict speed)
{
    for (long t = 0; t < steps; t++) {
        #pragma omp parallel for
        for (long i = 2; i < N - 2; i++) {
            real *o = prev + i * M;
            const real *c = cur + i * M, *s = speed + (i - 2) * (M - 4) - 2;
            #pragma omp simd
            for (long j = 2; j < M - 2; j++) {
                real lap = 16 * (c[j - M] + c[j + M] + c[j - 1] + c[j + 1])
                           - (c[j - 2 * M] + c[j + 2 * M] + c[j - 2] + c[j + 2]) - 60 * c[j];
                o[j] = 2 * c[j] - o[j] + s[j] * lap;
            }
        }
        real *other = prev;
        prev = cur;
        cur = other;
    }
}

void shallow_water(long N, long M, long steps, real *restrict h, real *restrict hu,
                   real *restrict hv, double c)
{
    long S = N * M;
    real *restrict f = malloc(7 * S * sizeof *f);
    real *restrict new = f + 4 * S, k = c;
    for (long t = 0; t < steps; t++) {
        #pragma omp parallel for simd
        for (long p = 0; p < S; p++) {
            real u = hu[p] / h[p], v = hv[p] / h[p], q = 4.905 * h[p] * h[p];
            f[p] = hu[p] * u + q;
            f[S + p] = hu[p] * v;
            f[2 * S + p] = hv[p] * u;
            f[3 * S + p] = hv[p] * v + q;
        }
        #pragma omp parallel for
        for (long i = 1; i < N - 1; i++) {
            #pragma omp simd
            for (long p = i * M + 1; p < i * M + M - 1; p++) {
                new[p] = 0.25 * (h[p + M] + h[p - M] + h[p + 1] + h[p - 1])
                         - k * (hu[p + M] - hu[p - M] + hv[p + 1] - hv[p - 1]);
                new[S + p] = 0.25 * (hu[p + M] + hu[p - M] + hu[p + 1] + hu[p - 1])
                             - k * (f[p + M] - f[p - M] + f[S + p + 1] - f[S + p - 1]);
                new[2 * S + p] = 0.25 * (hv[p + M] + hv[p - M] + hv[p + 1] + hv[p - 1])
                                 - k * (f[2 * S + p + M] - f[2 * S + p - M] + f[3 * S + p + 1]
                                        - f[3 * S + p - 1]);
            }
        }
        #pragma omp parallel for
        for (long i = 1; i < N - 1; i++)
            for (long p = i * M + 1; p < i * M + M - 1; p++) {
                h[p] = new[p];
                hu[p] = new[S + p];
                hv[p] = new[2 * S + p];
            }
    }
    free(f);
}

void euler_1d(long N, long steps, real *restrict rho, real *restrict mom, real *restrict ene,
              real *restrict fr, real *restrict fm, real *restrict fe, double c)
{
    real k = c;
    #pragma omp parallel
    for (long t = 0; t < steps; t++) {
        #pragma omp for simd
        for (long i = 0; i < N - 1; i++) {
            real ul = mom[i] / rho[i], ur = mom[i + 1] / rho[i + 1];
            real pl = 0.4 * (ene[i] - 0.5 * mom[i] * ul);
            real pr = 0.4 * (ene[i + 1] - 0.5 * mom[i + 1] * ur);
            real sl = fabs(ul) + sqrt(1.4 * pl / rho[i]);
            real sr = fabs(ur) + sqrt(1.4 * pr / rho[i + 1]);
            real s = larger(sl, sr);
            fr[i] = 0.5 * (mom[i] + mom[i + 1] - s * (rho[i + 1] - rho[i]));
            fm[i] = 0.5 * (mom[i] * ul + pl + mom[i + 1] * ur + pr - s * (mom[i + 1] - mom[i]));
            fe[i] = 0.5 * (ul * (ene[i] + pl) + ur * (ene[i + 1] + pr) - s * (ene[i + 1] - ene[i]));
        }
        #pragma omp for simd
        for (long i = 1; i < N - 1; i++) {
            rho[i] -= k * (fr[i] - fr[i - 1]);
            mom[i] -= k * (fm[i] - fm[i - 1]);
            ene[i] -= k * (fe[i] - fe[i - 1]);
        }
    }
}

void lattice_d2q5(long N, long M, long steps, real *restrict f, real *restrict g,
                  real *restrict temperature, double omega)
{
    long S = N * M;
    real w = omega;
    for (long n = 0; n < steps; n++) {
        #pragma omp parallel for
        for (long i = 1; i < N - 1; i++) {
            #pragma omp simd
            for (long p = i * M + 1; p < i * M + M - 1; p++) {
                real f0 = f[p], f1 = f[S + p - M], f2 = f[2 * S + p + M];
                real f3 = f[3 * S + p - 1], f4 = f[4 * S + p + 1];
                real t = f0 + f1 + f2 + f3 + f4;
                temperature[p] = t;
                g[p] = f0 - w * (f0 - t / 3);
                g[S + p] = f1 - w * (f1 - t / 6);
                g[2 * S + p] = f2 - w * (f2 - t / 6);
                g[3 * S + p] = f3 - w * (f3 - t / 6);
                g[4 * S + p] = f4 - w * (f4 - t / 6);
            }
        }
        #pragma omp parallel for collapse(2)
        for (long q = 0; q < 5; q++)
            for (long i = 1; i < N - 1; i++)
                memcpy(f + q * S + i * M + 1, g + q * S + i * M + 1, (M - 2) * sizeof *f);
    }
}
