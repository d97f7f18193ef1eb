#include "real.h"
#include <stdlib.h>

void adi(long TSTEPS, long N, real u[restrict N][N])
{
    real (*v)[N] = calloc(N * N, sizeof(real));
    real (*p)[N] = calloc(N * N, sizeof(real));
    real (*q)[N] = calloc(N * N, sizeof(real));
    real DX = R(1.0) / N, DY = R(1.0) / N, DT = R(1.0) / TSTEPS;
    real mul1 = R(2.0) * DT / (DX * DX), mul2 = R(1.0) * DT / (DY * DY);
    real a = -mul1 / R(2.0), b = R(1.0) + mul1, c = a;
    real d = -mul2 / R(2.0), e = R(1.0) + mul2, f = d;
    for (long t = 0; t < TSTEPS; t++) {
        for (long i = 1; i < N - 1; i++) {
            v[0][i] = R(1.0);
            p[i][0] = R(0.0);
            q[i][0] = v[0][i];
            for (long j = 1; j < N - 1; j++) {
                p[i][j] = -c / (a * p[i][j - 1] + b);
                q[i][j] = (-d * u[j][i - 1] + (R(1.0) + R(2.0) * d) * u[j][i] - f * u[j][i + 1] -
                           a * q[i][j - 1]) / (a * p[i][j - 1] + b);
            }
            v[N - 1][i] = R(1.0);
            for (long j = N - 2; j > 0; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (long i = 1; i < N - 1; i++) {
            u[i][0] = R(1.0);
            p[i][0] = R(0.0);
            q[i][0] = u[i][0];
            for (long j = 1; j < N - 1; j++) {
                p[i][j] = -f / (d * p[i][j - 1] + e);
                q[i][j] = (-a * v[i - 1][j] + (R(1.0) + R(2.0) * a) * v[i][j] - c * v[i + 1][j] -
                           d * q[i][j - 1]) / (d * p[i][j - 1] + e);
            }
            u[i][N - 1] = R(1.0);
            for (long j = N - 2; j > 0; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
    free(v);
    free(p);
    free(q);
}
