#include "real.h"

void softmax(long N, long V, real *restrict logits, real *restrict probs)
{
#pragma omp parallel for
    for (long i = 0; i < N; i++) {
        const real *restrict x = logits + i * V;
        real *restrict p = probs + i * V, top = x[0], total = 0;
#pragma omp simd reduction(max : top)
        for (long j = 1; j < V; j++)
            top = x[j] > top ? x[j] : top;
#ifdef FAST
#pragma omp simd reduction(+ : total)
#endif
        for (long j = 0; j < V; j++) {
            real e = exp(x[j] - top);
            p[j] = e;
            total += e;
        }
#ifdef FAST
        total = 1 / total;
        for (long j = 0; j < V; j++)
            p[j] *= total;
#else
        for (long j = 0; j < V; j++)
            p[j] /= total;
#endif
    }
}
