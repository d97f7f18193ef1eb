#include "real.h"

void trisolv(long N, real L[restrict N][N], real x[restrict N], real b[restrict N])
{
    enum { ROWS = 8 };
    for (long i0 = 0; i0 < N; i0 += ROWS) {
        long rows = i0 + ROWS < N ? ROWS : N - i0;
        real s[ROWS];
        for (long r = 0; r < rows; r++)
            s[r] = b[i0 + r];
        if (rows == ROWS)
            for (long j = 0; j < i0; j++)
                for (long r = 0; r < ROWS; r++)
                    s[r] -= L[i0 + r][j] * x[j];
        else
            for (long j = 0; j < i0; j++)
                for (long r = 0; r < rows; r++)
                    s[r] -= L[i0 + r][j] * x[j];
        for (long r = 0; r < rows; r++) {
            for (long j = 0; j < r; j++)
                s[r] -= L[i0 + r][i0 + j] * x[i0 + j];
            x[i0 + r] = s[r] / L[i0 + r][i0 + r];
        }
    }
}
