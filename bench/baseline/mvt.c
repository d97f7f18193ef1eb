#include "real.h"

void mvt(long N, real x1[restrict N], real x2[restrict N], real y1[restrict N],
         real y2[restrict N], real A[restrict N][N])
{
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++)
            x1[i] += A[i][j] * y1[j];
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++)
            x2[i] += A[j][i] * y2[j];
}
