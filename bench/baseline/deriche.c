#include "real.h"
#include <stdlib.h>

void deriche(long W, long H, real alpha, real imgIn[restrict W][H],
             real imgOut[restrict W][H])
{
    real (*y1)[H] = malloc(W * H * sizeof(real));
    real (*y2)[H] = malloc(W * H * sizeof(real));
    real k = (R(1.0) - exp(-alpha)) * (R(1.0) - exp(-alpha));
    k = k / (R(1.0) + R(2.0) * alpha * exp(-alpha) - exp(R(2.0) * alpha));
    real a1 = k, a5 = k;
    real a2 = k * exp(-alpha) * (alpha - R(1.0)), a6 = a2;
    real a3 = k * exp(-alpha) * (alpha + R(1.0)), a7 = a3;
    real a4 = -k * exp(-R(2.0) * alpha), a8 = a4;
    real b1 = pow(R(2.0), -alpha), b2 = -exp(-R(2.0) * alpha);
    real c1 = R(1.0), c2 = R(1.0);
    for (long i = 0; i < W; i++) {
        real ym1 = R(0.0), ym2 = R(0.0), xm1 = R(0.0);
        for (long j = 0; j < H; j++) {
            y1[i][j] = a1 * imgIn[i][j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
            xm1 = imgIn[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (long i = 0; i < W; i++) {
        real yp1 = R(0.0), yp2 = R(0.0), xp1 = R(0.0), xp2 = R(0.0);
        for (long j = H - 1; j >= 0; j--) {
            y2[i][j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
            xp2 = xp1;
            xp1 = imgIn[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (long i = 0; i < W; i++)
        for (long j = 0; j < H; j++)
            imgOut[i][j] = c1 * (y1[i][j] + y2[i][j]);
    for (long j = 0; j < H; j++) {
        real tm1 = R(0.0), ym1 = R(0.0), ym2 = R(0.0);
        for (long i = 0; i < W; i++) {
            y1[i][j] = a5 * imgOut[i][j] + a6 * tm1 + b1 * ym1 + b2 * ym2;
            tm1 = imgOut[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (long j = 0; j < H; j++) {
        real tp1 = R(0.0), tp2 = R(0.0), yp1 = R(0.0), yp2 = R(0.0);
        for (long i = W - 1; i >= 0; i--) {
            y2[i][j] = a7 * tp1 + a8 * tp2 + b1 * yp1 + b2 * yp2;
            tp2 = tp1;
            tp1 = imgOut[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (long i = 0; i < W; i++)
        for (long j = 0; j < H; j++)
            imgOut[i][j] = c2 * (y1[i][j] + y2[i][j]);
    free(y1);
    free(y2);
}
