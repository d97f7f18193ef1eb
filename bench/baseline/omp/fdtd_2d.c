#include "real.h"

void fdtd_2d(long TMAX, long NX, long NY, real ex[restrict NX][NY], real ey[restrict NX][NY],
             real hz[restrict NX][NY], real fict[restrict TMAX])
{
#pragma omp parallel
    for (long t = 0; t < TMAX; t++) {
#pragma omp for nowait
        for (long j = 0; j < NY; j++)
            ey[0][j] = fict[t];
#pragma omp for nowait
        for (long i = 1; i < NX; i++)
            for (long j = 0; j < NY; j++)
                ey[i][j] -= R(0.5) * (hz[i][j] - hz[i - 1][j]);
#pragma omp for
        for (long i = 0; i < NX; i++)
            for (long j = 1; j < NY; j++)
                ex[i][j] -= R(0.5) * (hz[i][j] - hz[i][j - 1]);
#pragma omp for
        for (long i = 0; i < NX - 1; i++)
            for (long j = 0; j < NY - 1; j++)
                hz[i][j] -= R(0.7) * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}
