void gemver(long N, double alpha, double beta, double A[restrict N][N], double u1[restrict N],
            double v1[restrict N], double u2[restrict N], double v2[restrict N],
            double w[restrict N], double x[restrict N], double y[restrict N], double z[restrict N])
{
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++)
            A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++)
            x[i] = x[i] + beta * A[j][i] * y[j];
    for (long i = 0; i < N; i++)
        x[i] = x[i] + z[i];
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++)
            w[i] = w[i] + alpha * A[i][j] * x[j];
}
