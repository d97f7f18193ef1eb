void syr2k(long M, long N, double alpha, double beta, double C[restrict N][N],
           double A[restrict N][M], double B[restrict N][M])
{
    for (long i = 0; i < N; i++) {
        for (long j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (long k = 0; k < M; k++)
            for (long j = 0; j <= i; j++)
                C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    }
}
