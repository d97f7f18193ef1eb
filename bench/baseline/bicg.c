void bicg(long M, long N, double A[restrict N][M], double s[restrict M], double q[restrict N],
          double p[restrict M], double r[restrict N])
{
    for (long i = 0; i < M; i++)
        s[i] = 0.0;
    for (long i = 0; i < N; i++) {
        q[i] = 0.0;
        for (long j = 0; j < M; j++) {
            s[j] += r[i] * A[i][j];
            q[i] += A[i][j] * p[j];
        }
    }
}
