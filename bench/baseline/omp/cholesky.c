#include "triangle.h"
#include <stdlib.h>

void cholesky(long N, real *A)
{
    enum { BLOCK = 64 };
    real *T = malloc(BLOCK * N * sizeof(real));
    for (long b = 0; b < N; b += BLOCK) {
        long e = b + BLOCK < N ? b + BLOCK : N, left = N - e;
        for (long j = b; j < e; j++) {
            for (long k = b; k < j; k++)
                A[j * N + j] -= A[j * N + k] * A[j * N + k];
            A[j * N + j] = sqrt(A[j * N + j]);
            for (long i = j + 1; i < e; i++) {
                for (long k = b; k < j; k++)
                    A[i * N + j] -= A[i * N + k] * A[j * N + k];
                A[i * N + j] /= A[j * N + j];
            }
        }
#pragma omp parallel for schedule(dynamic, 8)
        for (long i = e; i < N; i++)
            for (long j = b; j < e; j++) {
                real s = A[i * N + j];
                for (long k = b; k < j; k++)
                    s -= A[i * N + k] * A[j * N + k];
                A[i * N + j] = s / A[j * N + j];
                T[(j - b) * left + i - e] = A[i * N + j];
            }
        if (left)
            mm_lower(left, e - b, -1, A + e * N + b, N, 1, T, left, A + e * N + e, N);
    }
    free(T);
}
