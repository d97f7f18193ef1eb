void gemm(long NI, long NJ, long NK, double alpha, double beta, double C[restrict NI][NJ],
          double A[restrict NI][NK], double B[restrict NK][NJ])
{
    for (long i = 0; i < NI; i++) {
        for (long j = 0; j < NJ; j++)
            C[i][j] *= beta;
        for (long k = 0; k < NK; k++)
            for (long j = 0; j < NJ; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}
