/* Means of the columns of data[n][m]: every thread has columns of its own. */
#include "triangle.h"

static inline void means(long m, long n, const real *data, real *mean)
{
    enum { COLUMNS = 64 };
#pragma omp parallel for
    for (long j0 = 0; j0 < m; j0 += COLUMNS) {
        long j1 = j0 + COLUMNS < m ? j0 + COLUMNS : m;
        for (long j = j0; j < j1; j++)
            mean[j] = 0;
        for (long i = 0; i < n; i++)
            for (long j = j0; j < j1; j++)
                mean[j] += data[i * m + j];
        for (long j = j0; j < j1; j++)
            mean[j] /= (real)n;
    }
}

static inline void mirror(long m, real *S)
{
#pragma omp parallel for schedule(dynamic, 32)
    for (long i = 0; i < m; i++)
        for (long j = i + 1; j < m; j++)
            S[i * m + j] = S[j * m + i];
}
