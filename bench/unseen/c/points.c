#include "real.h"
#include <stdlib.h>

void lennard_jones(long N, const real *restrict pos, real *restrict force, double cutoff)
{
    real limit = cutoff;
    #pragma omp parallel for
    for (long i = 0; i < N; i++) {
        real fx = 0, fy = 0, fz = 0, x = pos[3 * i], y = pos[3 * i + 1], z = pos[3 * i + 2];
        #pragma omp simd reduction(+ : fx, fy, fz)
        for (long j = 0; j < N; j++) {
            real dx = x - pos[3 * j], dy = y - pos[3 * j + 1], dz = z - pos[3 * j + 2];
            real r2 = dx * dx + dy * dy + dz * dz;
            if (i != j && r2 < limit) {
                real s = 1 / r2, s3 = s * s * s, f = s3 * (s3 - 0.5) * s;
                fx += f * dx;
                fy += f * dy;
                fz += f * dz;
            }
        }
        force[3 * i] = fx;
        force[3 * i + 1] = fy;
        force[3 * i + 2] = fz;
    }
}

void fuzzy_clusters(long N, long K, long D, const real *restrict points,
                    const real *restrict centres, real *restrict membership)
{
    #pragma omp parallel for
    for (long n = 0; n < N; n++) {
        real total = 0, *o = membership + n * K;
        for (long k = 0; k < K; k++) {
            real distance = 0;
            for (long d = 0; d < D; d++) {
                real difference = points[n * D + d] - centres[k * D + d];
                distance += difference * difference;
            }
            o[k] = 1 / (distance + 1e-6);
            total += o[k];
        }
        for (long k = 0; k < K; k++)
            o[k] /= total;
    }
}

void moments(long N, long M, const real *restrict X, real *restrict row_mean,
             real *restrict row_var, real *restrict col_mean, real *restrict col_var,
             real *restrict col_skew)
{
    #pragma omp parallel for
    for (long i = 0; i < N; i++) {
        real total = 0, spread = 0;
        for (long j = 0; j < M; j++)
            total += X[i * M + j];
        real mean = total / M;
        for (long j = 0; j < M; j++)
            spread += (X[i * M + j] - mean) * (X[i * M + j] - mean);
        row_mean[i] = mean;
        row_var[i] = spread / M;
    }
    for (long j = 0; j < M; j++)
        col_mean[j] = col_var[j] = col_skew[j] = 0;
    #pragma omp parallel
    {
        /* the same columns for the same thread in each row */
        for (long i = 0; i < N; i++) {
            #pragma omp for simd schedule(static) nowait
            for (long j = 0; j < M; j++)
                col_mean[j] += X[i * M + j];
        }
        #pragma omp for simd schedule(static) nowait
        for (long j = 0; j < M; j++)
            col_mean[j] /= N;
        for (long i = 0; i < N; i++) {
            #pragma omp for simd schedule(static) nowait
            for (long j = 0; j < M; j++) {
                real d = X[i * M + j] - col_mean[j];
                col_var[j] += d * d;
                col_skew[j] += d * d * d;
            }
        }
        #pragma omp for simd schedule(static)
        for (long j = 0; j < M; j++) {
            col_var[j] /= N;
            col_skew[j] = col_skew[j] / N / (col_var[j] * sqrt(col_var[j]));
        }
    }
}
