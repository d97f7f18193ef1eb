#include "real.h"

void horner(long N, long K, const real *restrict x, const real *restrict coefficients,
            real *restrict out)
{
    #pragma omp parallel for simd
    for (long i = 0; i < N; i++) {
        real acc = 0;
        for (long k = 0; k < K; k++)
            acc = acc * x[i] + coefficients[k];
        out[i] = acc;
    }
}

void batched_5x5(long N, const real *restrict A, const real *restrict B, real *restrict C)
{
    #pragma omp parallel for
    for (long n = 0; n < N; n++) {
        const real *a = A + 25 * n, *b = B + 25 * n;
        real *c = C + 25 * n;
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++) {
                real acc = 0;
                for (int k = 0; k < 5; k++)
                    acc += a[5 * i + k] * b[5 * k + j];
                c[5 * i + j] = acc;
            }
    }
}

void kronecker(long N, long M, long P, long Q, const real *restrict A, const real *restrict B,
               real *restrict out)
{
    #pragma omp parallel for collapse(2)
    for (long i = 0; i < N; i++)
        for (long p = 0; p < P; p++)
            for (long j = 0; j < M; j++)
                for (long q = 0; q < Q; q++)
                    out[(i * P + p) * M * Q + j * Q + q] = A[i * M + j] * B[p * Q + q];
}

void contraction(long N, long J, long K, long L, long M, const real *restrict A,
                 const real *restrict B, real *restrict out)
{
    #pragma omp parallel for collapse(2)
    for (long k = 0; k < K; k++)
        for (long i = 0; i < N; i++) {
            real *o = out + (k * N + i) * M;
            for (long m = 0; m < M; m++)
                o[m] = 0;
            for (long j = 0; j < J; j++)
                for (long l = 0; l < L; l++) {
                    real a = A[((i * J + j) * K + k) * L + l];
                    #pragma omp simd
                    for (long m = 0; m < M; m++)
                        o[m] += a * B[(l * J + j) * M + m];
                }
        }
}

void weighted_normal(long N, long M, const real *restrict A, const real *restrict d,
                     real *restrict out)
{
    #pragma omp parallel for
    for (long i = 0; i < M; i++) {
        real *o = out + i * M;
        for (long j = 0; j < M; j++)
            o[j] = 0;
        for (long n = 0; n < N; n++) {
            real a = A[n * M + i] * d[n];
            #pragma omp simd
            for (long j = 0; j < M; j++)
                o[j] += a * A[n * M + j];
        }
    }
}

void transpose_update(long N, long M, real *restrict A, const real *restrict B, double alpha)
{
    real a = alpha;
    #pragma omp parallel for
    for (long i = 0; i < N; i++)
        for (long j = 0; j < M; j++)
            A[i * M + j] += a * B[j * N + i];
}

void rank_two_lower(long N, real *restrict A, const real *restrict x, const real *restrict y,
                    double alpha)
{
    real a = alpha;
    #pragma omp parallel for schedule(dynamic, 16)
    for (long i = 0; i < N; i++) {
        #pragma omp simd
        for (long j = 0; j <= i; j++)
            A[i * N + j] += a * (x[i] * y[j] + y[i] * x[j]);
    }
}

void banded_power(long N, long W, long steps, const real *restrict band, real *restrict x,
                  real *restrict y)
{
    for (long t = 0; t < steps; t++) {
        #pragma omp parallel for
        for (long i = 0; i < N; i++) {
            real acc = 0;
            for (long k = 0; k < W; k++)
                acc += band[i * W + k] * x[i + k];
            y[i] = acc;
        }
        #pragma omp parallel for simd
        for (long i = 0; i < N; i++)
            x[i + 6] = y[i];
    }
}

void jacobi_residual(long N, long steps, const real *restrict A, const real *restrict b,
                     real *restrict x, real *restrict r, real *restrict norms)
{
    for (long t = 0; t < steps; t++) {
        real total = 0;
        #pragma omp parallel for reduction(+ : total)
        for (long i = 0; i < N; i++) {
            real acc = b[i];
            #pragma omp simd reduction(- : acc)
            for (long j = 0; j < N; j++)
                acc -= A[i * N + j] * x[j];
            r[i] = acc;
            total += acc * acc;
        }
        for (long i = 0; i < N; i++)
            x[i] += r[i] / A[i * N + i];
        norms[t] = sqrt(total);
    }
}
