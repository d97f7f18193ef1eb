#include "mm.h"
#include <stdlib.h>

void doitgen(long NQ, long NR, long NP, real *A, real *C4)
{
    enum { ROWS = 48 };
    long n = NQ * NR;
#pragma omp parallel
    {
        real *total = malloc(ROWS * NP * sizeof(real));
#pragma omp for
        for (long i = 0; i < n; i += ROWS) {
            long rows = i + ROWS < n ? ROWS : n - i;
            memset(total, 0, rows * NP * sizeof(real));
            mm(rows, NP, NP, 1, A + i * NP, NP, 1, C4, NP, total, NP);
            memcpy(A + i * NP, total, rows * NP * sizeof(real));
        }
        free(total);
    }
}
