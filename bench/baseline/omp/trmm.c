#include "mm.h"
#include <stdlib.h>

void trmm(long M, long N, real alpha, real *A, real *B)
{
    enum { ROWS = 48 };
    real *old = malloc(M * N * sizeof(real));
    memcpy(old, B, M * N * sizeof(real));
#pragma omp parallel for schedule(dynamic)
    for (long i = 0; i < M; i += ROWS) {
        long end = i + ROWS < M ? i + ROWS : M;
        for (long r = i; r < end; r++)
            for (long k = r + 1; k < end; k++)
                for (long j = 0; j < N; j++)
                    B[r * N + j] += A[k * M + r] * old[k * N + j];
        mm(end - i, N, M - end, 1, A + end * M + i, 1, M, old + end * N, N, B + i * N, N);
        for (long x = i * N; x < end * N; x++)
            B[x] *= alpha;
    }
    free(old);
}
