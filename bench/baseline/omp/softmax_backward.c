#include "rows.h"

void softmax_backward(long N, long V, real *restrict probs, real *restrict grad)
{
#pragma omp parallel for
    for (long i = 0; i < N; i++) {
        const real *restrict p = probs + i * V;
        real *restrict g = grad + i * V, total = 0;
#ifdef FAST
        total = dot(V, p, g, 0);
#else
        for (long j = 0; j < V; j++)
            total += p[j] * g[j];
#endif
        for (long j = 0; j < V; j++)
            g[j] = p[j] * (g[j] - total);
    }
}
