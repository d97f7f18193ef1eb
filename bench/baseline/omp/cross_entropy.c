#include "real.h"

void cross_entropy(long N, long V, real *restrict logits, long *restrict targets,
                   real *restrict losses, real *restrict dlogits)
{
#pragma omp parallel for
    for (long i = 0; i < N; i++) {
        const real *restrict x = logits + i * V;
        real *restrict d = dlogits + i * V, top = x[0], total = 0;
#pragma omp simd reduction(max : top)
        for (long j = 1; j < V; j++)
            top = x[j] > top ? x[j] : top;
#ifdef FAST
#pragma omp simd reduction(+ : total)
#endif
        for (long j = 0; j < V; j++) {
            real e = exp(x[j] - top);
            d[j] = e;
            total += e;
        }
        real scale = 1 / total / N;
        losses[i] = -log(d[targets[i]] / total);
        for (long j = 0; j < V; j++)
            d[j] *= scale;
        d[targets[i]] -= R(1.0) / N;
    }
}
