#include "mm.h"
#include <stdlib.h>

void swiglu(long N, long D, long F, real *x, real *w_gate, real *w_up, real *w_down, real *out)
{
    real *gate = calloc(N * F, sizeof(real)), *up = calloc(N * F, sizeof(real));
    mm_all(N, F, D, 1, x, D, 1, w_gate, F, gate, F);
    mm_all(N, F, D, 1, x, D, 1, w_up, F, up, F);
#pragma omp parallel for simd
    for (long i = 0; i < N * F; i++)
        gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
    memset(out, 0, N * D * sizeof(real));
    mm_all(N, D, F, 1, gate, F, 1, w_down, D, out, D);
    free(up);
    free(gate);
}
