#include "real.h"
#include <stdlib.h>
#include <string.h>

void scharr(long H, long W, const real *restrict img, real *restrict out)
{
    #pragma omp parallel for
    for (long i = 1; i < H - 1; i++) {
        const real *a = img + (i - 1) * W, *b = a + W, *c = b + W;
        #pragma omp simd
        for (long j = 1; j < W - 1; j++) {
            real gx = 3 * (a[j + 1] - a[j - 1]) + 10 * (b[j + 1] - b[j - 1]) + 3 * (c[j + 1] - c[j - 1]);
            real gy = 3 * (c[j - 1] - a[j - 1]) + 10 * (c[j] - a[j]) + 3 * (c[j + 1] - a[j + 1]);
            real m = sqrt(gx * gx + gy * gy);
            out[i * W + j] = m < 8 ? m : 8;
        }
    }
}

void unsharp(long H, long W, const real *restrict img, const real *restrict w, double amount,
             real *restrict tmp, real *restrict out)
{
    enum { K = 9 };
    long V = W - K + 1;
    #pragma omp parallel for
    for (long i = 0; i < H; i++)
        for (long j = 0; j < V; j++) {
            real acc = 0;
            for (long k = 0; k < K; k++)
                acc += w[k] * img[i * W + j + k];
            tmp[i * V + j] = acc;
        }
    #pragma omp parallel for
    for (long i = 0; i < H - K + 1; i++)
        for (long j = 0; j < V; j++) {
            real acc = 0;
            for (long k = 0; k < K; k++)
                acc += w[k] * tmp[(i + k) * V + j];
            real pixel = img[(i + 4) * W + j + 4];
            out[i * V + j] = pixel + (real)amount * (pixel - acc);
        }
}

void rgb_to_yuv(long H, long W, const real *restrict rgb, real *restrict yuv)
{
    #pragma omp parallel for
    for (long i = 0; i < H; i++) {
        #pragma omp simd
        for (long j = 0; j < W; j++) {
            const real *p = rgb + (i * W + j) * 3;
            real *q = yuv + (i * W + j) * 3;
            real r = p[0], g = p[1], b = p[2];
            real y = 0.299 * r + 0.587 * g + 0.114 * b;
            q[0] = y;
            q[1] = 0.492 * (b - y);
            q[2] = 0.877 * (r - y);
        }
    }
}

void resize_bilinear(long H, long W, const real *restrict img, const long *restrict row,
                     const real *restrict fy, const long *restrict col, const real *restrict fx,
                     real *restrict out)
{
    long n = 5 * H / 2, m = 5 * W / 2;
    #pragma omp parallel for
    for (long i = 0; i < n; i++) {
        const real *a = img + row[i] * W, *b = a + W;
        for (long j = 0; j < m; j++) {
            long x = col[j];
            real above = a[x] + fx[j] * (a[x + 1] - a[x]);
            real below = b[x] + fx[j] * (b[x + 1] - b[x]);
            out[i * m + j] = above + fy[i] * (below - above);
        }
    }
}

void box_by_sums(long H, long W, const real *restrict img, real *restrict total,
                 real *restrict out)
{
    long V = W + 1, U = W - 6;
    #pragma omp parallel
    {
        #pragma omp for
        for (long i = 0; i < H; i++) {
            real acc = 0;
            for (long j = 0; j < W; j++) {
                acc += img[i * W + j];
                total[(i + 1) * V + j + 1] = acc;
            }
        }
        for (long i = 1; i < H; i++) {
            /* the same columns for the same thread in each row */
            #pragma omp for simd schedule(static) nowait
            for (long j = 0; j < W; j++)
                total[(i + 1) * V + j + 1] += total[i * V + j + 1];
        }
        #pragma omp barrier
        #pragma omp for
        for (long i = 0; i < H - 6; i++)
            for (long j = 0; j < U; j++)
                out[i * U + j] = (total[(i + 7) * V + j + 7] - total[i * V + j + 7]
                                  - total[(i + 7) * V + j] + total[i * V + j]) / 49;
    }
}

void perona_malik(long H, long W, long steps, real *restrict img)
{
    real *restrict old = malloc(H * W * sizeof *old);
    memcpy(old, img, H * W * sizeof *old);
    for (long t = 0; t < steps; t++) {
        #pragma omp parallel for
        for (long i = 1; i < H - 1; i++) {
            const real *c = old + i * W;
            #pragma omp simd
            for (long j = 1; j < W - 1; j++) {
                real n = c[j - W] - c[j], s = c[j + W] - c[j];
                real w = c[j - 1] - c[j], e = c[j + 1] - c[j];
                real flow = n * exp(-16 * n * n) + s * exp(-16 * s * s)
                            + w * exp(-16 * w * w) + e * exp(-16 * e * e);
                img[i * W + j] = c[j] + 0.2 * flow;
            }
        }
        #pragma omp parallel for
        for (long i = 1; i < H - 1; i++)
            memcpy(old + i * W + 1, img + i * W + 1, (W - 2) * sizeof *old);
    }
    free(old);
}
